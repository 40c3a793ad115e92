-- Show a task as it is, in all keys at once.
--
-- KEYS[1] task       string: the task
-- KEYS[2] ttl        string: expires when the task's time has come
-- KEYS[3] ids        list: ids of all tasks
-- KEYS[4] queue      list: ids of tasks that wait for a worker
-- KEYS[5] active     list: ids of tasks that workers have
-- KEYS[6] failed     list: ids of tasks that failed
-- KEYS[7] completed  list: completed tasks
-- KEYS[8] shown      hash: id -> the list that it was put into, or ''
-- ARGV[1] id
-- ARGV[2] text       the task as JSON
-- ARGV[3] list       'queue', 'active', 'failed', 'completed' or ''
-- ARGV[4] due        when its time comes, in epoch milliseconds, or '0'
-- ARGV[5] only_new   '1' to leave a task alone that is shown already
-- ARGV[6] most       completed tasks that are kept
-- Returns 1, or 0 if there was nothing to change.
local task, ttl, ids, queue, active, failed = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local completed, shown = KEYS[7], KEYS[8]
local id, text, list, due, only_new, most = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]

local function leave_lists()
  redis.call('LREM', queue, 0, id)
  redis.call('LREM', active, 0, id)
  redis.call('LREM', failed, 0, id)
end

local before = redis.call('HGET', shown, id)
if before and only_new == '1' then return 0 end
if list == 'completed' then
  if not before then return 0 end
  redis.call('RPUSH', completed, text)
  redis.call('LTRIM', completed, -most, -1)
  redis.call('DEL', task, ttl)
  redis.call('LREM', ids, 0, id)
  leave_lists()
  redis.call('HDEL', shown, id)
  return 1
end
if not before then
  redis.call('LREM', ids, 0, id)
  redis.call('RPUSH', ids, id)
end
if before ~= list then
  leave_lists()
  if list == 'queue' then redis.call('RPUSH', queue, id) end
  if list == 'active' then redis.call('RPUSH', active, id) end
  if list == 'failed' then redis.call('RPUSH', failed, id) end
end
redis.call('SET', task, text)
if due == '0' then
  redis.call('DEL', ttl)
else
  redis.call('SET', ttl, task)
  redis.call('PEXPIREAT', ttl, due)
end
redis.call('HSET', shown, id, list)
return 1
