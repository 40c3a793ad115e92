-- Read the schedules of one queue whose time comes next, soonest first.
--
-- KEYS[1] schedules  hash: schedule uuid -> schedule
-- KEYS[2] states     hash: schedule uuid -> version, a space, state
-- KEYS[3] due        sorted set: schedule uuid by the time at which it is to be decided
-- KEYS[4] running    hash: job id -> token, rank, when it began (0: it waits in its node's buffer)
-- KEYS[5] ended      hash: job id -> ending
-- KEYS[6] jobs       hash: job id -> spec
-- ARGV[1] limit
-- Returns per schedule a list: schedule, state, and per job of its state where that is.
-- include: moves
-- include: schedule_entry
local schedules, states, due, running, ended, jobs = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local limit = tonumber(ARGV[1])

local answer = {}
for _, uuid in ipairs(redis.call('ZRANGE', due, 0, limit - 1)) do
  local body = redis.call('HGET', schedules, uuid)
  local state = redis.call('HGET', states, uuid)
  if body and not is_moving(state) then
    answer[#answer + 1] = schedule_entry(uuid, body, state, running, ended, jobs)
  end
end
return answer
