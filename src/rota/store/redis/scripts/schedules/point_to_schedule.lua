-- Remember where a schedule is that moved, unless it was deleted or has moved on since.
--
-- KEYS[1] queues  hash: schedule uuid -> its queue, and behind a zero byte the version as which it came there, if it moved
-- ARGV[1] uuid
-- ARGV[2] source   the queue that it left
-- ARGV[3] place    queue and version, as above
-- ARGV[4] version
-- Returns nothing.
local queues = KEYS[1]
local uuid, source, place, version = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])

local there = redis.call('HGET', queues, uuid)
if not there or string.match(there, '^[^%z]*') ~= source then return end
if tonumber(string.match(there, '%z(%d+)$') or 0) < version then redis.call('HSET', queues, uuid, place) end
