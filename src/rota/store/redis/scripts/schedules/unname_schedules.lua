-- Forget names of schedules.
--
-- KEYS[1] queues  hash: schedule uuid -> its queue, and behind a zero byte the version as which it came there, if it moved
-- KEYS[2] names   hash: schedule name -> uuid
-- KEYS[3] order   sorted set, by name: schedule names
-- KEYS[4] users   sorted set, by name: job type, a space, name of a schedule of it
-- KEYS[5] reservations  hash: schedule name -> token of whoever is about to write a schedule with it
-- ARGV[1...] entries  per schedule: uuid, name, job type
-- Returns nothing.
local queues, names, order, users, reservations = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

for i = 1, #ARGV, 3 do
  local uuid, name, job_type = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  redis.call('HDEL', queues, uuid)
  if redis.call('HGET', names, name) == uuid then
    redis.call('HDEL', names, name)
    redis.call('HDEL', reservations, name)
    redis.call('ZREM', order, name)
    redis.call('ZREM', users, job_type .. ' ' .. name)
  end
end
