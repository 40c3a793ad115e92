-- Tell a node that it is to cancel a job. One that has left hears nothing, and nobody would take that away.
--
-- KEYS[1] inbox   list: ids and tokens of jobs that the node is to cancel
-- KEYS[2] pulses  hash: node -> its last sign of life
-- ARGV[1] node
-- ARGV[2] request
-- Returns nothing.
-- include: although_full
local inbox, pulses = KEYS[1], KEYS[2]
local node, request = ARGV[1], ARGV[2]

if redis.call('HEXISTS', pulses, node) == 0 then return end
write_although_full(inbox)
redis.call('RPUSH', inbox, request)
