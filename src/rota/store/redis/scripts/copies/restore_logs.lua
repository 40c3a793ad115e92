-- Keep log lines of a restored job. Those that are there already stay as they are.
--
-- KEYS[1] log      list: log entries of one job
-- ARGV[1] after    the position of the first line
-- ARGV[2...] entries  of the log
-- Returns nothing.
local log, skipped = KEYS[1], redis.call('LLEN', KEYS[1]) - ARGV[1]

for n = 2 + math.max(skipped, 0), #ARGV do redis.call('RPUSH', log, ARGV[n]) end
