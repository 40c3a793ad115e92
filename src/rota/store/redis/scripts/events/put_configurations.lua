-- Create or replace configurations of one queue, each only if it is the version that was expected.
--
-- KEYS[1] configurations  hash: configuration uuid -> configuration
-- KEYS[2] states          hash: configuration uuid -> version, a space, state
-- KEYS[3] index           sorted set, by name: where dependencies are found
-- ARGV[1...] entries  per configuration: uuid, expected version or '' for a new one, configuration, version, state,
--   number of its old places in the index, these places, number of its new ones, these places
-- Returns per configuration 1 or 0.
local configurations, states, index = KEYS[1], KEYS[2], KEYS[3]

local answer, at = {}, 1
while at <= #ARGV do
  local uuid, expected, body, version, state = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  local old_at = at + 6
  local new_at = old_at + tonumber(ARGV[at + 5]) + 1
  at = new_at + tonumber(ARGV[new_at - 1])
  local there = redis.call('HGET', states, uuid)
  local found = there and string.match(there, '^%d+') or ''
  if found == expected then
    redis.call('HSET', configurations, uuid, body)
    redis.call('HSET', states, uuid, version .. ' ' .. state)
    for i = old_at, new_at - 2 do redis.call('ZREM', index, ARGV[i]) end
    for i = new_at, at - 1 do redis.call('ZADD', index, 0, ARGV[i]) end
    answer[#answer + 1] = 1
  else
    answer[#answer + 1] = 0
  end
end
return answer
