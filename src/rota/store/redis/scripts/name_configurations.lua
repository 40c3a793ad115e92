-- Reserve names for configurations and remember where they live, all or none.
--
-- KEYS[1] queues  hash: configuration uuid -> its queue
-- KEYS[2] names   hash: configuration name -> uuid
-- KEYS[3] order   sorted set, by name: configuration names
-- ARGV[1...] entries  per configuration: uuid, queue, name, name it had or ''
-- Returns the first name that belongs to another configuration, or nothing.
local queues, names, order = KEYS[1], KEYS[2], KEYS[3]

local claimed = {}
for i = 1, #ARGV, 4 do
  local uuid, name = ARGV[i], ARGV[i + 2]
  local owner = claimed[name] or redis.call('HGET', names, name) or uuid
  if owner ~= uuid then return name end
  claimed[name] = uuid
end
for i = 1, #ARGV, 4 do
  local uuid, queue, name, old = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  if old ~= '' and old ~= name then
    redis.call('HDEL', names, old)
    redis.call('ZREM', order, old)
  end
  redis.call('HSET', queues, uuid, queue)
  redis.call('HSET', names, name, uuid)
  redis.call('ZADD', order, 0, name)
end
return false
