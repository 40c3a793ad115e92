-- Accept jobs into one queue, each once.
--
-- KEYS[1] jobs     hash: job id -> spec
-- KEYS[2] ready    sorted set: queued jobs by rank
-- KEYS[3] delayed  sorted set: delayed jobs by due time
-- KEYS[4] unique   hash: unique key -> id of the live job that has it
-- KEYS[5] marks    hash: job id -> mark
-- KEYS[6] wake     list: signal for a waiting node
-- KEYS[7] stats    hash: minute and word -> how many jobs, of an hour
-- KEYS[8] totals   hash: word -> how many jobs in all
-- KEYS[9] series   sorted set, by name: series, time and id of each job that is in one
-- ARGV[1] minute   epoch milliseconds
-- ARGV[2] expiry   of the stats, in seconds
-- ARGV[3...] entries  per job: id, spec, rank, due time or '', mark or '', unique key or ''
-- Returns pairs of an entry's number (from 0) and the id of the surviving job, for entries that were not accepted.
-- include: wake
-- include: chunks
-- include: stats
-- include: series
-- include: admit
local jobs, ready, delayed, unique, marks, wake = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local stats, totals, series, minute, expiry = KEYS[7], KEYS[8], KEYS[9], ARGV[1], ARGV[2]

local refused = admit(jobs, ready, delayed, unique, marks, wake, series, ARGV, 3, #ARGV)
count_up(stats, totals, minute, expiry, 'enqueued', (#ARGV - 2) / 6 - #refused / 2)
return refused
