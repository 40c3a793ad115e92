-- Read schedules of one queue.
--
-- KEYS[1] schedules  hash: schedule uuid -> schedule
-- KEYS[2] states     hash: schedule uuid -> version, a space, state
-- KEYS[3] running    hash: job id -> token, rank, when it began (0: it waits in its node's buffer)
-- KEYS[4] ended      hash: job id -> ending
-- KEYS[5] jobs       hash: job id -> spec
-- ARGV[1...] uuids
-- Returns per uuid a list: nothing, or schedule, state, and per job of its state where that is; or, if it is on its
--   way to another queue, uuid and what its state says.
-- include: moves
-- include: schedule_entry
local schedules, states, running, ended, jobs = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

local answer = {}
for n, uuid in ipairs(ARGV) do
  local body = redis.call('HGET', schedules, uuid)
  answer[n] = body and schedule_entry(uuid, body, redis.call('HGET', states, uuid), running, ended, jobs) or {}
end
return answer
