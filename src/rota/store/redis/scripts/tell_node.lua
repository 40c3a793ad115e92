-- Put a word into a list that a node waits on.
--
-- KEYS[1] list  its inbox, or the word for a waiting node
-- ARGV[1] word
-- Returns nothing.
-- include: although_full
local list = KEYS[1]
local word = ARGV[1]

write_although_full(list)
redis.call('RPUSH', list, word)
