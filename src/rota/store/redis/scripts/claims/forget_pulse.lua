-- Forget a node of a queue, if it has not given another sign of life.
--
-- KEYS[1] pulses  hash: node -> its last sign of life
-- KEYS[2] floors  hash: node -> serial up to which its claims come too late
-- KEYS[3] inbox   list: ids and tokens of jobs that the node is to cancel
-- ARGV[1] node
-- ARGV[2] pulse   that was seen
-- Returns nothing.
local pulses, floors, inbox = KEYS[1], KEYS[2], KEYS[3]
local node, pulse = ARGV[1], ARGV[2]

if redis.call('HGET', pulses, node) ~= pulse then return end
redis.call('HDEL', pulses, node)
redis.call('HDEL', floors, node)
redis.call('UNLINK', inbox)
