-- Take something that is no task out of the queue and keep it among the dead letters.
--
-- KEYS[1] queue  sorted set: ids of tasks that wait, by priority
-- KEYS[2] dead   list: dead letters
-- KEYS[3] task   hash: the fields of the task, if it can have some; somebody may have put anything there
-- ARGV[1] task_id
-- ARGV[2] letter    what is kept of it
-- ARGV[3] most      letters that are kept
-- ARGV[4] finished  the time, for a task that has fields: it failed
-- Returns 1, or 0 if it was not there.
local queue, dead, task = KEYS[1], KEYS[2], KEYS[3]
local task_id, letter, most, finished = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

if redis.call('ZREM', queue, task_id) == 0 then return 0 end
redis.call('RPUSH', dead, letter)
redis.call('LTRIM', dead, -most, -1)
if task and redis.call('TYPE', task).ok == 'hash' then
  redis.call('HSET', task, 'status', 'FAILED', 'finished_at', finished)
end
return 1
