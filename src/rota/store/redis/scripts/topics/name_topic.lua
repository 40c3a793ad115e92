-- Make a topic known, unless there are too many.
--
-- KEYS[1] names  sorted set, by name: topics
-- ARGV[1] name
-- ARGV[2] how many there may be
-- Returns 1 if it is known, 0 if there are too many.
local names = KEYS[1]
local name, most = ARGV[1], tonumber(ARGV[2])

if redis.call('ZSCORE', names, name) then return 1 end
if redis.call('ZCARD', names) >= most then return 0 end
redis.call('ZADD', names, 0, name)
return 1
