-- Let one node at a time do something, and let it go on for as long as it comes back in time.
--
-- KEYS[1] turn  string: the node whose turn it is
-- ARGV[1] node
-- ARGV[2] for_ms  how long the turn lasts
-- Returns 1 if it is this node's turn, else 0.
local turn = KEYS[1]
local node, for_ms = ARGV[1], ARGV[2]

local holder = redis.call('GET', turn)
if holder and holder ~= node then return 0 end
redis.call('SET', turn, node, 'PX', for_ms)
return 1
