-- Reserve names for schedules and remember where they live and whose jobs they make, all or none.
--
-- KEYS[1] queues  hash: schedule uuid -> its queue
-- KEYS[2] names   hash: schedule name -> uuid
-- KEYS[3] order   sorted set, by name: schedule names
-- KEYS[4] users   sorted set, by name: job type, a space, name of a schedule of it
-- ARGV[1...] entries  per schedule: uuid, queue, name, job type, name it had or '', job type it had or ''
-- Returns the first name that belongs to another schedule, or nothing.
local queues, names, order, users = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

local claimed = {}
for i = 1, #ARGV, 6 do
  local uuid, name = ARGV[i], ARGV[i + 2]
  local owner = claimed[name] or redis.call('HGET', names, name) or uuid
  if owner ~= uuid then return name end
  claimed[name] = uuid
end
for i = 1, #ARGV, 6 do
  local uuid, queue, name, job_type, old_name, old_type =
    ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5]
  if old_name ~= '' and old_name ~= name then
    redis.call('HDEL', names, old_name)
    redis.call('ZREM', order, old_name)
  end
  if old_name ~= '' and (old_name ~= name or old_type ~= job_type) then
    redis.call('ZREM', users, old_type .. ' ' .. old_name)
  end
  redis.call('HSET', queues, uuid, queue)
  redis.call('HSET', names, name, uuid)
  redis.call('ZADD', order, 0, name)
  redis.call('ZADD', users, 0, job_type .. ' ' .. name)
end
return false
