-- Create or replace schedules of one queue, each only if it is the version that was expected and not on its way to another
-- queue.
--
-- KEYS[1] schedules  hash: schedule uuid -> schedule
-- KEYS[2] states     hash: schedule uuid -> version, a space, state
-- KEYS[3] due        sorted set: schedule uuid by the time at which it is to be decided
-- ARGV[1...] entries  per schedule: uuid, expected version or '' for a new one, schedule, version, state, due time or ''
-- Returns per schedule 1 or 0.
-- include: moves
local schedules, states, due = KEYS[1], KEYS[2], KEYS[3]

local answer = {}
for i = 1, #ARGV, 6 do
  local uuid, expected, body, version, state, at =
    ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5]
  local there = redis.call('HGET', states, uuid)
  local found = there and string.match(there, '^%d+') or ''
  if found == expected and not is_moving(there) then
    redis.call('HSET', schedules, uuid, body)
    redis.call('HSET', states, uuid, version .. ' ' .. state)
    if at == '' then redis.call('ZREM', due, uuid) else redis.call('ZADD', due, at, uuid) end
    answer[#answer + 1] = 1
  else
    answer[#answer + 1] = 0
  end
end
return answer
