-- Forget a node of a queue, if it has not given another sign of life. Which claims of it come too late stays known for a
-- while: it may live and only have been silent, and one that it gave up may still be on its way.
--
-- KEYS[1] pulses  hash: node -> its last sign of life
-- KEYS[2] floors  hash: node -> serial up to which its claims come too late, and when it left, if it has
-- KEYS[3] inbox   list: ids and tokens of jobs that the node is to cancel
-- ARGV[1] node
-- ARGV[2] pulse    that was seen
-- ARGV[3] keep_ms  how long the floors of nodes that have left are kept
-- Returns nothing.
-- include: although_full
-- include: floors
-- include: time
local pulses, floors, inbox = KEYS[1], KEYS[2], KEYS[3]
local node, pulse, keep_ms = ARGV[1], ARGV[2], tonumber(ARGV[3])

if redis.call('HGET', pulses, node) ~= pulse then return end
write_although_full(floors)
redis.call('HDEL', pulses, node)
redis.call('UNLINK', inbox)
local floor = redis.call('HGET', floors, node)
if floor then keep_floor(floors, node, floor_of(floor), server_time(), keep_ms) end
