-- Remove a task from all keys.
--
-- KEYS[1] task    string: the task
-- KEYS[2] ttl     string: expires when the task's time has come
-- KEYS[3] ids     list: ids of all tasks
-- KEYS[4] queue   list: ids of tasks that wait for a worker
-- KEYS[5] active  list: ids of tasks that workers have
-- KEYS[6] failed  list: ids of tasks that failed
-- KEYS[7] shown   hash: id -> the list that it was put into, or ''
-- ARGV[1] id
-- Returns 1.
local task, ttl, ids, queue, active, failed, shown = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local id = ARGV[1]

redis.call('DEL', task, ttl)
redis.call('LREM', ids, 0, id)
redis.call('LREM', queue, 0, id)
redis.call('LREM', active, 0, id)
redis.call('LREM', failed, 0, id)
redis.call('HDEL', shown, id)
return 1
