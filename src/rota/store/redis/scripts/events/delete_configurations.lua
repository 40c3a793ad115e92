-- Forget configurations of one queue with all that is known of them.
--
-- KEYS[1] configurations  hash: configuration uuid -> configuration
-- KEYS[2] states          hash: configuration uuid -> version, a space, state
-- KEYS[3] index           sorted set, by name: where dependencies are found
-- KEYS[4...] histories    per configuration: evaluations, validations, event ids
-- ARGV[1...] entries  per configuration: uuid, expected version or '' for any, number of its places in the index, these
--   places
-- Returns per configuration 1, or 0 if there was none of that version.
local configurations, states, index = KEYS[1], KEYS[2], KEYS[3]

local answer, at = {}, 1
while at <= #ARGV do
  local uuid, expected, count, n = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), #answer
  local there = redis.call('HGET', states, uuid)
  if expected == '' or (there and string.match(there, '^%d+') == expected) then
    answer[n + 1] = redis.call('HDEL', configurations, uuid)
    redis.call('HDEL', states, uuid)
    for i = at + 3, at + 2 + count do redis.call('ZREM', index, ARGV[i]) end
    redis.call('UNLINK', KEYS[4 + n * 3], KEYS[5 + n * 3], KEYS[6 + n * 3])
  else
    answer[n + 1] = 0
  end
  at = at + 3 + count
end
return answer
