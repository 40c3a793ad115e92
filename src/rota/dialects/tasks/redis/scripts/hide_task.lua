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
local task, ttl, shown, id = KEYS[1], KEYS[2], KEYS[7], ARGV[1]

redis.call('DEL', task, ttl)
for number = 3, 6 do redis.call('LREM', KEYS[number], 0, id) end
redis.call('HDEL', shown, id)
return 1
