-- Put a signal into a list that a node waits on.
--
-- KEYS[1] list  its inbox, or the list of its queue
-- ARGV[1] signal
-- Returns nothing.
-- include: although_full
local list = KEYS[1]
local signal = ARGV[1]

write_although_full(list)
redis.call('RPUSH', list, signal)
