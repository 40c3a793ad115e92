-- Show a task as it is, unless it has moved on meanwhile.
--
-- KEYS[1] queue    sorted set: ids of tasks that wait, by priority
-- KEYS[2] index    sorted set: ids of a collection's tasks, by creation
-- KEYS[3] task     hash: the fields of the task
-- KEYS[4] shown    hash: task id -> job id
-- KEYS[5] jobs     hash: job id -> spec
-- KEYS[6] running  hash: job id -> token, rank, and when it began or 0
-- KEYS[7] ended    hash: job id -> ending
-- ARGV[1] place    where the job was seen: 'waiting', 'running' or 'ended'
-- ARGV[2] job_id
-- ARGV[3] task_id
-- ARGV[4] score
-- ARGV[5] created  in seconds
-- ARGV[6...] fields and their values
-- Returns 1, or 0 and changes nothing if the job is somewhere else now.
local queue, index, task, shown = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local jobs, running, ended = KEYS[5], KEYS[6], KEYS[7]
local place, job_id, task_id, score, created = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

local function place_of(id)
  if redis.call('HEXISTS', jobs, id) == 0 then return 'nowhere' end
  if redis.call('HEXISTS', ended, id) == 1 then return 'ended' end
  local hold = redis.call('HGET', running, id)
  if hold and not string.find(hold, ' 0$') then return 'running' end
  return 'waiting'
end

if place_of(job_id) ~= place then return 0 end
local fields = {}
for i = 6, #ARGV do fields[#fields + 1] = ARGV[i] end
redis.call('HSET', task, unpack(fields))
redis.call('ZADD', index, created, task_id)
redis.call('HSET', shown, task_id, job_id)
if place == 'waiting' then
  redis.call('ZADD', queue, score, task_id)
else
  redis.call('ZREM', queue, task_id)
end
return 1
