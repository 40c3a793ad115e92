-- Remove a task that history has forgotten, with all that showed it.
--
-- KEYS[1] queue  sorted set: ids of tasks that wait, by priority
-- KEYS[2] index  sorted set: ids of a collection's tasks, by creation
-- KEYS[3] task   hash: the fields of the task
-- KEYS[4] logs   sorted set: what it wrote
-- KEYS[5] shown  hash: task id -> job id
-- KEYS[6] jobs   hash: job id -> spec
-- ARGV[1] task_id
-- ARGV[2] job_id
-- Returns 1, or 0 and changes nothing if the job is there.
local queue, index, task, logs, shown, jobs = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local task_id, job_id = ARGV[1], ARGV[2]

if redis.call('HEXISTS', jobs, job_id) == 1 then return 0 end
redis.call('ZREM', queue, task_id)
redis.call('ZREM', index, task_id)
redis.call('UNLINK', task)
redis.call('UNLINK', logs)
redis.call('HDEL', shown, task_id)
return 1
