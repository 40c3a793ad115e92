-- Whose name it is. One whose owner is gone is free.
local function owner_of(queues, names, name)
  local owner = redis.call('HGET', names, name)
  return owner and redis.call('HEXISTS', queues, owner) == 1 and owner
end
