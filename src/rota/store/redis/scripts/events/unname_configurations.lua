-- Forget configurations and their names: what is not known here is none any more, whatever its queue still has.
--
-- KEYS[1] queues    hash: configuration uuid -> its queue
-- KEYS[2] names     hash: configuration name -> uuid
-- KEYS[3] order     sorted set, by name: configuration names
-- KEYS[4] arrivals  hash: configuration uuid -> version with which it came to its queue, of those that moved
-- KEYS[5] reservations  hash: configuration name -> token of whoever is about to write a configuration with it
-- ARGV[1...] entries  per configuration: uuid, name
-- Returns per configuration 1, or 0 if it was not known.
local queues, names, order, arrivals, reservations = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

local answer = {}
for i = 1, #ARGV, 2 do
  local uuid, name = ARGV[i], ARGV[i + 1]
  answer[#answer + 1] = redis.call('HDEL', queues, uuid)
  redis.call('HDEL', arrivals, uuid)
  if redis.call('HGET', names, name) == uuid then
    redis.call('HDEL', names, name)
    redis.call('HDEL', reservations, name)
    redis.call('ZREM', order, name)
  end
end
return answer
