-- Forget the name of a definition. One whose record cannot be read is looked for among all names.
local function forget_name(names, uuid, body)
  local name = fields_of(body).name
  if type(name) == 'string' and redis.call('HGET', names, name) == uuid then
    redis.call('HDEL', names, name)
    return
  end
  local all = redis.call('HGETALL', names)
  for n = 1, #all, 2 do
    if all[n + 1] == uuid then redis.call('HDEL', names, all[n]) end
  end
end
