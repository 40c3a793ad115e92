-- Write something, so that a wait for replicas on the same connection is for all that was written before.
--
-- KEYS[1] synced  string: a number that grows with each such write
-- ARGV none
-- Returns nothing.
-- include: although_full
local synced = KEYS[1]

write_although_full(synced)
redis.call('INCR', synced)
