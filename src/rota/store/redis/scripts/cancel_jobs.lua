-- Cancel waiting jobs at once and mark running ones.
--
-- KEYS[1]  jobs        hash: job id -> spec
-- KEYS[2]  ready       sorted set: queued jobs by rank
-- KEYS[3]  delayed     sorted set: delayed jobs by due time
-- KEYS[4]  held        sorted set: jobs that wait for a lock
-- KEYS[5]  running     hash: job id -> token, rank, claim time
-- KEYS[6]  locks       hash: lock key -> id of the running job that holds it
-- KEYS[7]  unique      hash: unique key -> id of the live job that has it
-- KEYS[8]  marks       hash: job id -> mark
-- KEYS[9]  ended       hash: job id -> ending
-- KEYS[10] cancelled   sorted set: ended jobs by end time
-- KEYS[11] cancelling  hash: running jobs that are to be cancelled
-- KEYS[12] wake        list: word for a waiting node
-- KEYS[13] stats       hash: minute and word -> how many jobs, of an hour
-- KEYS[14] totals      hash: word -> how many jobs in all
-- ARGV[1] now     epoch milliseconds
-- ARGV[2] ending  for a job that was waiting
-- ARGV[3] minute  epoch milliseconds
-- ARGV[4] expiry  of the stats, in seconds
-- ARGV[5...] ids
-- Returns per id: 'unknown', 'final', 'cancelled', or the token that holds the running job.
-- include: records
-- include: locks
-- include: wake
-- include: stats
local jobs, ready, delayed, held, running = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local locks, unique, marks, ended = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local cancelled, cancelling, wake = KEYS[10], KEYS[11], KEYS[12]
local stats, totals = KEYS[13], KEYS[14]
local now, ending, minute, expiry = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local function cancel_waiting(id)
  redis.call('ZREM', ready, id)
  redis.call('ZREM', delayed, id)
  redis.call('HSET', ended, id, ending)
  redis.call('ZADD', cancelled, now, id)
  count_up(stats, totals, minute, expiry, 'cancelled', 1)
  local text = redis.call('HGET', marks, id)
  if not text then return end
  local mark = mark_of(text)
  if mark.unique and redis.call('HGET', unique, mark.unique) == id then redis.call('HDEL', unique, mark.unique) end
  if mark.lock and mark.rank then
    redis.call('ZREM', held, held_member(mark.lock, mark.rank, id))
    -- It may have been the one that was made ready when the lock became free.
    if free_lock(locks, held, ready, mark.lock) then leave_word(wake) end
  end
  -- A mark with a past tells how often the job was tried; it stays as long as the job.
  if not mark.attempts and not mark.deaths then redis.call('HDEL', marks, id) end
end

local answer = {}
for i = 5, #ARGV do
  local id = ARGV[i]
  local hold = redis.call('HGET', running, id)
  if hold then
    redis.call('HSET', cancelling, id, '1')
    answer[#answer + 1] = string.match(hold, '^(.*) %S+ %S+$')
  elseif redis.call('HEXISTS', ended, id) == 1 then
    answer[#answer + 1] = 'final'
  elseif redis.call('HEXISTS', jobs, id) == 1 then
    cancel_waiting(id)
    answer[#answer + 1] = 'cancelled'
  else
    answer[#answer + 1] = 'unknown'
  end
end
return answer
