-- Forget names of configurations.
--
-- KEYS[1] queues  hash: configuration uuid -> its queue
-- KEYS[2] names   hash: configuration name -> uuid
-- KEYS[3] order   sorted set, by name: configuration names
-- ARGV[1...] entries  per configuration: uuid, name
-- Returns nothing.
local queues, names, order = KEYS[1], KEYS[2], KEYS[3]

for i = 1, #ARGV, 2 do
  local uuid, name = ARGV[i], ARGV[i + 1]
  redis.call('HDEL', queues, uuid)
  if redis.call('HGET', names, name) == uuid then
    redis.call('HDEL', names, name)
    redis.call('ZREM', order, name)
  end
end
