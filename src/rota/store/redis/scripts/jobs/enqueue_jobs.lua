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
-- KEYS[10] chosen  sorted set: the latest ids that callers chose; only if some of these are, on a single server
-- ARGV[1] minute   epoch milliseconds
-- ARGV[2] expiry   of the stats, in seconds
-- ARGV[3] is_known  1 if the queue was listed some time ago, 0 if just now
-- ARGV[4] seen     number of the last id in `chosen` before these were looked for in other queues
-- ARGV[5] count    of ids that were chosen; 0 without `chosen`
-- ARGV[6...] entries  ids that were chosen; then per job: id, spec, rank, due time or '', mark or '', unique key or ''
-- Returns pairs of an entry's number (from 0) and the id of the surviving job, for entries that were not accepted; or a
--   number, and nothing happened: 0, a chosen id may have come to another queue since it was looked for; -1, the queue was
--   forgotten since it was listed.
-- include: wake
-- include: chunks
-- include: stats
-- include: series
-- include: admit
-- include: chosen
local jobs, ready, delayed, unique, marks, wake = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local stats, totals, series, chosen = KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local minute, expiry, is_known, seen, count = ARGV[1], ARGV[2], ARGV[3] == '1', tonumber(ARGV[4]), tonumber(ARGV[5])
local first = 6 + count

-- A queue that had jobs has totals until it is forgotten.
if is_known and redis.call('EXISTS', totals) == 0 then return -1 end
local ids = {}
for n = 6, first - 1 do ids[#ids + 1] = ARGV[n] end
if count > 0 and came_since(chosen, seen, ids) then return 0 end
local refused = admit(jobs, ready, delayed, unique, marks, wake, series, ARGV, first, #ARGV)
local accepted = (#ARGV - first + 1) / 6 - #refused / 2
-- Who repeats a call that had been heard writes nothing: a full server would refuse it.
if count > 0 and accepted > 0 then remember_chosen(chosen, ids) end
count_up(stats, totals, minute, expiry, 'enqueued', accepted)
return refused
