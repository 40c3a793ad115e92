-- Create or replace schedules of one queue, each only if it is the version that was expected and not on its way to another
-- queue.
--
-- KEYS[1] schedules  hash: schedule uuid -> schedule
-- KEYS[2] states     hash: schedule uuid -> version, a space, state
-- KEYS[3] due        sorted set: schedule uuid by the time at which it is to be decided
-- KEYS[4...] ticks   one sorted set per schedule: rows by nominal instant
-- ARGV[1...] entries  per schedule: uuid, expected version or '' for a new one, schedule, version, state, due time or '',
--                     and of a row for ticks that are left out the nominal instant or '', and the row
-- Returns per schedule 1 or 0.
-- include: moves
local schedules, states, due = KEYS[1], KEYS[2], KEYS[3]

local answer = {}
for i = 1, #ARGV, 8 do
  local uuid, expected, body, version, state, at =
    ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5]
  local ticks, nominal, row = KEYS[3 + (i + 7) / 8], ARGV[i + 6], ARGV[i + 7]
  local there = redis.call('HGET', states, uuid)
  local found = there and string.match(there, '^%d+') or ''
  if found == expected and not is_moving(there) then
    redis.call('HSET', schedules, uuid, body)
    redis.call('HSET', states, uuid, version .. ' ' .. state)
    if at == '' then redis.call('ZREM', due, uuid) else redis.call('ZADD', due, at, uuid) end
    if nominal ~= '' then redis.call('ZADD', ticks, nominal, row) end
    answer[#answer + 1] = 1
  else
    answer[#answer + 1] = 0
  end
end
return answer
