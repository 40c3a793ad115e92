-- Have whoever ends jobs of one queue know at least this version of the definitions.
--
-- KEYS[1] awaited_since  string: the version that must be known
-- ARGV[1] version
-- Returns the version that must be known now.
-- include: although_full
local awaited_since = KEYS[1]
local version = ARGV[1]

local there = redis.call('GET', awaited_since)
if there and tonumber(there) >= tonumber(version) then return tonumber(there) end
-- Jobs end on a full server too, the first of a queue included.
write_although_full(awaited_since)
redis.call('SET', awaited_since, version)
return tonumber(version)
