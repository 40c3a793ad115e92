-- Cancel waiting jobs at once and mark running ones.
--
-- KEYS[1]  jobs        hash: job id -> spec
-- KEYS[2]  ready       sorted set: queued jobs by rank
-- KEYS[3]  delayed     sorted set: delayed jobs by due time
-- KEYS[4]  held        sorted set: blocked jobs, which wait for a lock
-- KEYS[5]  running     hash: job id -> token, rank, when it began (0: it waits in its node's buffer)
-- KEYS[6]  locks       hash: lock key -> id of the running job that holds it
-- KEYS[7]  unique      hash: unique key -> id of the live job that has it
-- KEYS[8]  marks       hash: job id -> mark
-- KEYS[9]  ended       hash: job id -> ending
-- KEYS[10] cancelled   sorted set: ended jobs by end time
-- KEYS[11] cancelling  hash: running jobs that are to be cancelled
-- KEYS[12] wake        list: signal for a waiting node
-- KEYS[13] stats       hash: minute and word -> how many jobs, of an hour
-- KEYS[14] totals      hash: word -> how many jobs in all
-- KEYS[15] outbox      sorted set: ends of jobs that are yet to be taken as events, by time
-- KEYS[16] awaited_since  string: the version of the definitions that the caller must know
-- KEYS[17] rates_due   sorted set: rate keys with limited jobs, by when these are looked at again
-- ARGV[1] now     epoch milliseconds
-- ARGV[2] ending  for a job that was waiting
-- ARGV[3] minute  epoch milliseconds
-- ARGV[4] expiry  of the stats, in seconds
-- ARGV[5] event_count  how many of the ends are events, should these jobs be waiting
-- ARGV[6] known   the version of the definitions by which the events were chosen
-- ARGV[7...] entries  per such end: job id, time, event; then the ids
-- Returns per id: 'unknown', 'final', 'cancelled', or the token that holds the running job; or, and nothing happened, the
--   version that must be known.
-- include: although_full
-- include: records
-- include: locks
-- include: rates
-- include: wake
-- include: stats
-- include: cancel
-- include: ends
local jobs, ready, delayed, blocked, running = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local locks, unique, marks, ended = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local cancelled, cancelling, wake = KEYS[10], KEYS[11], KEYS[12]
local stats, totals, outbox, awaited_since, rates_due = KEYS[13], KEYS[14], KEYS[15], KEYS[16], KEYS[17]
local now, ending, minute, expiry, known = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[6]
local first = 7 + ARGV[5] * 3

local newer = version_to_learn(awaited_since, known)
if newer then return newer end

write_although_full(running)
local answer, count, is_over = {}, 0, {}
for i = first, #ARGV do
  local id = ARGV[i]
  local word = cancel(
    jobs, ready, delayed, blocked, running, locks, unique, marks, ended, cancelled, cancelling, rates_due, wake, id, now, ending
  )
  answer[#answer + 1] = word
  if word == 'cancelled' then
    count = count + 1
    is_over[id] = true
  end
end
tell_ends(outbox, ARGV, 7, first - 1, is_over)
count_up(stats, totals, minute, expiry, 'cancelled', count)
return answer
