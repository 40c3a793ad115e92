-- A node leaves a queue. A claim that it has sent and that comes when it has gone takes nothing.
--
-- KEYS[1] pulses  hash: node -> its last sign of life
-- KEYS[2] floors  hash: node -> serial up to which its claims come too late, and when it left, if it has
-- KEYS[3] inbox   list: ids and tokens of jobs that the node is to cancel
-- ARGV[1] node
-- ARGV[2] serial    of its last claim
-- ARGV[3] keep_ms   how long the floors of nodes that have left are kept
-- Returns nothing.
-- include: although_full
-- include: floors
-- include: time
local pulses, floors, inbox = KEYS[1], KEYS[2], KEYS[3]
local node, serial, keep_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local floor = math.max(floor_of(redis.call('HGET', floors, node)), serial)
write_although_full(floors)
redis.call('HDEL', pulses, node)
redis.call('UNLINK', inbox)
keep_floor(floors, node, floor, server_time(), keep_ms)
