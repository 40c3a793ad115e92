-- Forget schedules of one queue with their ticks. One that is on its way to another queue stays, unless its state is named.
--
-- KEYS[1] schedules  hash: schedule uuid -> schedule
-- KEYS[2] states     hash: schedule uuid -> version, a space, state
-- KEYS[3] due        sorted set: schedule uuid by the time at which it is to be decided
-- KEYS[4...] ticks   one sorted set per schedule
-- ARGV[1...] entries  per schedule: uuid, the state that it must have or ''
-- Returns per schedule 1, 0 if there was none, or -1 if it is on its way or has another state.
-- include: moves
local schedules, states, due = KEYS[1], KEYS[2], KEYS[3]

local answer = {}
for n = 1, #ARGV / 2 do
  local uuid, named, ticks = ARGV[n * 2 - 1], ARGV[n * 2], KEYS[3 + n]
  local there = redis.call('HGET', states, uuid)
  local stays
  if named == '' then stays = is_moving(there) else stays = there ~= named end
  if stays then
    answer[n] = -1
  else
    answer[n] = redis.call('HDEL', schedules, uuid)
    redis.call('HDEL', states, uuid)
    redis.call('ZREM', due, uuid)
    redis.call('UNLINK', ticks)
  end
end
return answer
