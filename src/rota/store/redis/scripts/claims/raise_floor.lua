-- Let claims of a node up to a serial take nothing.
--
-- KEYS[1] floors  hash: node -> serial up to which its claims come too late
-- ARGV[1] node
-- ARGV[2] serial
-- Returns nothing.
-- include: although_full
-- include: floors
local floors = KEYS[1]
local node, serial = ARGV[1], ARGV[2]

local floor = floor_of(redis.call('HGET', floors, node))
write_although_full(floors)
redis.call('HSET', floors, node, string.format('%.0f', math.max(floor, tonumber(serial))))
