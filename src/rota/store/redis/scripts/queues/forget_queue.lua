-- Forget everything of a queue in which nothing lives, and of which no end is yet to be taken.
--
-- KEYS[1] jobs            hash: job id -> spec
-- KEYS[2] schedules       hash: schedule uuid -> schedule
-- KEYS[3] configurations  hash: configuration uuid -> configuration
-- KEYS[4] outbox          sorted set: ends of jobs that are yet to be taken
-- KEYS[5...] rest         all other keys of the queue
-- ARGV none
-- Returns 1, or 0 and nothing happened.
local jobs, schedules, configurations, outbox = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

if redis.call('EXISTS', jobs, schedules, configurations, outbox) > 0 then return 0 end
for n = 5, #KEYS do redis.call('UNLINK', KEYS[n]) end
return 1
