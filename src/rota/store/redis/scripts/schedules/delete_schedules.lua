-- Forget schedules of one queue with their ticks.
--
-- KEYS[1] schedules  hash: schedule uuid -> schedule
-- KEYS[2] states     hash: schedule uuid -> version, a space, state
-- KEYS[3] due        sorted set: schedule uuid by the time at which it is to be decided
-- KEYS[4...] ticks   one sorted set per schedule
-- ARGV[1...] uuids
-- Returns per schedule 1 or 0.
local schedules, states, due = KEYS[1], KEYS[2], KEYS[3]

local answer = {}
for n, uuid in ipairs(ARGV) do
  local ticks = KEYS[3 + n]
  answer[n] = redis.call('HDEL', schedules, uuid)
  redis.call('HDEL', states, uuid)
  redis.call('ZREM', due, uuid)
  redis.call('UNLINK', ticks)
end
return answer
