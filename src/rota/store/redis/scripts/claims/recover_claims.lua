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
-- ARGV[1] now     epoch milliseconds
-- ARGV[2] ending  for a job that was to be cancelled
-- ARGV[3] minute  epoch milliseconds
-- ARGV[4] expiry  of the stats, in seconds
-- ARGV[5...] claims  per claim: id, token
-- Returns how many were put back.
-- include: although_full
-- include: records
-- include: locks
-- include: wake
-- include: stats
local running, ready, blocked, locks = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local marks, cancelling, wake = KEYS[5], KEYS[6], KEYS[7]
local ended, cancelled, unique = KEYS[8], KEYS[9], KEYS[10]
local stats, totals, minute, expiry = KEYS[11], KEYS[12], ARGV[3], ARGV[4]
local now, ending = ARGV[1], ARGV[2]

local function put_back(id, rank, mark)
  if redis.call('HDEL', cancelling, id) == 0 then
    redis.call('ZADD', ready, rank, id)
    return
  end
  redis.call('HSET', ended, id, ending)
  redis.call('ZADD', cancelled, now, id)
  count_up(stats, totals, minute, expiry, 'cancelled', 1)
  if mark and mark.unique then redis.call('HDEL', unique, mark.unique) end
end

write_although_full(running)
local recovered = 0
for i = 5, #ARGV, 2 do
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
    recovered = recovered + 1
  end
end
if recovered > 0 then signal(wake) end
return recovered
