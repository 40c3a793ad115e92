-- Put entries of the audit log in the place of those that are not done, or forget these.
--
-- KEYS[1] audit  sorted set, by name: id, a space, entry (JSON)
-- ARGV[1...]     per entry: id, the entry that takes its place (JSON) or an empty text
-- Returns nothing.
local audit = KEYS[1]

for n = 1, #ARGV, 2 do
  local id, entry = ARGV[n], ARGV[n + 1]
  local begun = id .. ' {"id":"' .. id .. '","is_done":false,'
  local found = redis.call('ZRANGEBYLEX', audit, '[' .. id .. ' ', '(' .. id .. '!', 'LIMIT', 0, 1)[1]
  if found and string.sub(found, 1, #begun) == begun then
    redis.call('ZREM', audit, found)
    if entry ~= '' then redis.call('ZADD', audit, 0, id .. ' ' .. entry) end
  end
end
