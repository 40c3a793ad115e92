-- Keep log lines of a restored job, and how far it had come. Lines that are there already stay as they are.
--
-- KEYS[1] log       list: log entries of the job
-- KEYS[2] progress  hash: job id -> how far it has come
-- ARGV[1] id        of the job
-- ARGV[2] after     the position of the first line
-- ARGV[3] note      how far it has come, or nothing
-- ARGV[4...] entries  of the log
-- Returns nothing.
local log, progress = KEYS[1], KEYS[2]
local id, after, note = ARGV[1], ARGV[2], ARGV[3]

local there = redis.call('LLEN', log) - after
for n = 4 + math.max(there, 0), #ARGV do redis.call('RPUSH', log, ARGV[n]) end
if note ~= '' then redis.call('HSET', progress, id, note) end
