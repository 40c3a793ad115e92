-- Remember that a configuration lives in another queue from now on, unless it is gone, or has come there or further
-- already.
--
-- KEYS[1] queues    hash: configuration uuid -> its queue
-- KEYS[2] arrivals  hash: configuration uuid -> version with which it came to its queue, of those that moved
-- KEYS[3] moves     string: grows with every move
-- ARGV[1] uuid
-- ARGV[2] queue    where it comes to
-- ARGV[3] version  with which it comes there; each move has a higher one
-- Returns 1 if it lives there now, 0 if not.
local queues, arrivals, moves = KEYS[1], KEYS[2], KEYS[3]
local uuid, queue, version = ARGV[1], ARGV[2], ARGV[3]

local there = redis.call('HGET', queues, uuid)
if there and tonumber(redis.call('HGET', arrivals, uuid) or '0') < tonumber(version) then
  redis.call('HSET', queues, uuid, queue)
  redis.call('HSET', arrivals, uuid, version)
  redis.call('INCR', moves)
  there = queue
end
return there == queue and 1 or 0
