-- Write a node's record and the time of its beat.
--
-- KEYS[1] nodes  hash: node uuid -> node
-- KEYS[2] pings  sorted set: node uuid by last beat
-- ARGV[1] uuid
-- ARGV[2] last_ping  epoch milliseconds
-- ARGV[3] body
-- Returns nothing.
-- include: although_full
local nodes, pings = KEYS[1], KEYS[2]
local uuid, last_ping, body = ARGV[1], ARGV[2], ARGV[3]

write_although_full(nodes)
redis.call('HSET', nodes, uuid, body)
redis.call('ZADD', pings, last_ping, uuid)
