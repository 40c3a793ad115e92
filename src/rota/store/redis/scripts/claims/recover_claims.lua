-- Put back claims of which their node knows nothing, each if it is still the one that was seen.
--
-- KEYS[1] running     hash: job id -> token, rank, when it began (0: it waits in its node's buffer)
-- KEYS[2] ready       sorted set: queued jobs by rank
-- KEYS[3] held        sorted set: blocked jobs, which wait for a lock
-- KEYS[4] locks       hash: lock key -> id of the running job that holds it
-- KEYS[5] marks       hash: job id -> mark
-- KEYS[6] cancelling  hash: running jobs that are to be cancelled
-- KEYS[7] wake        list: signal for a waiting node
-- KEYS[8] ended       hash: job id -> ending
-- KEYS[9] cancelled   sorted set: ended jobs by end time
-- KEYS[10] unique     hash: unique key -> id of the live job that has it
-- KEYS[11] stats      hash: minute and word -> how many jobs, of an hour
-- KEYS[12] totals     hash: word -> how many jobs in all
-- KEYS[13] outbox     sorted set: ends of jobs that are yet to be taken as events, by time
-- KEYS[14] awaited_since  string: the version of the definitions that the caller must know
-- ARGV[1] now     epoch milliseconds
-- ARGV[2] ending  for a job that was to be cancelled
-- ARGV[3] minute  epoch milliseconds
-- ARGV[4] expiry  of the stats, in seconds
-- ARGV[5] event_count  how many of the ends are events, should these jobs be to be cancelled
-- ARGV[6] known   the version of the definitions by which the events were chosen
-- ARGV[7...] entries  per such end: job id, time, event; per claim: id, token
-- Returns the ids that were put back; or, and nothing happened, the version that must be known.
-- include: although_full
-- include: records
-- include: locks
-- include: wake
-- include: stats
-- include: ends
local running, ready, blocked, locks = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local marks, cancelling, wake = KEYS[5], KEYS[6], KEYS[7]
local ended, cancelled, unique = KEYS[8], KEYS[9], KEYS[10]
local stats, totals, minute, expiry = KEYS[11], KEYS[12], ARGV[3], ARGV[4]
local outbox, awaited_since = KEYS[13], KEYS[14]
local now, ending, known = ARGV[1], ARGV[2], ARGV[6]
local first = 7 + ARGV[5] * 3

local newer = version_to_learn(awaited_since, known)
if newer then return newer end
local is_over = {}

local function put_back(id, rank, mark)
  if redis.call('HDEL', cancelling, id) == 0 then
    redis.call('ZADD', ready, rank, id)
    return
  end
  is_over[id] = true
  redis.call('HSET', ended, id, ending)
  redis.call('ZADD', cancelled, now, id)
  count_up(stats, totals, minute, expiry, 'cancelled', 1)
  if mark and mark.unique then redis.call('HDEL', unique, mark.unique) end
end

write_although_full(running)
local recovered = {}
for i = first, #ARGV, 2 do
  local id, token = ARGV[i], ARGV[i + 1]
  local holder, rank = string.match(redis.call('HGET', running, id) or '', '^(.*) (%S+) %S+$')
  if holder == token then
    redis.call('HDEL', running, id)
    local text = redis.call('HGET', marks, id)
    local mark = text and mark_of(text)
    put_back(id, rank, mark)
    if mark and mark.lock then
      redis.call('HDEL', locks, mark.lock)
      free_lock(locks, blocked, ready, mark.lock)
    end
    recovered[#recovered + 1] = id
  end
end
tell_ends(outbox, ARGV, 7, first - 1, is_over)
if #recovered > 0 then signal(wake) end
return recovered
