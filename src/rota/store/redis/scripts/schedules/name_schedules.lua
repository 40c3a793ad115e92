-- Reserve names for schedules and remember whose jobs they make, and where new ones live, all or none. Names that they do not
-- have any more are free. Without a token nothing is reserved: they have these names.
--
-- KEYS[1] queues  hash: schedule uuid -> its queue, and behind a zero byte the version as which it came there, if it moved
-- KEYS[2] names   hash: schedule name -> uuid
-- KEYS[3] order   sorted set, by name: schedule names
-- KEYS[4] users   sorted set, by name: job type, a space, name of a schedule of it
-- KEYS[5] reservations  hash: schedule name -> token of whoever is about to write a schedule with it
-- ARGV[1] token  of the reservations, or ''
-- ARGV[2...] entries  per schedule: uuid, queue of a new one or '', name, job type, name that it does not have any more or '',
--   job type with which it had that
-- Returns the first name that belongs to another schedule, or nothing.
-- include: owners
local queues, names, order, users, reservations = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local token = ARGV[1]

local claimed = {}
for i = 2, #ARGV, 6 do
  local uuid, name = ARGV[i], ARGV[i + 2]
  local owner = claimed[name] or owner_of(queues, names, name) or uuid
  if owner ~= uuid then return name end
  claimed[name] = uuid
end
for i = 2, #ARGV, 6 do
  local uuid, queue, name, job_type, old_name, old_type =
    ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5]
  if old_name ~= '' and redis.call('HGET', names, old_name) == uuid then
    redis.call('HDEL', names, old_name)
    redis.call('HDEL', reservations, old_name)
    redis.call('ZREM', order, old_name)
    redis.call('ZREM', users, old_type .. ' ' .. old_name)
  end
  if queue ~= '' then redis.call('HSET', queues, uuid, queue) end
  redis.call('HSET', names, name, uuid)
  if token ~= '' then redis.call('HSET', reservations, name, token) end
  redis.call('ZADD', order, 0, name)
  redis.call('ZADD', users, 0, job_type .. ' ' .. name)
end
return false
