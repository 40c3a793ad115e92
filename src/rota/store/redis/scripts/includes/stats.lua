-- Count jobs that were enqueued or ended in a minute, and in all. `expiry` is in seconds; the first count sets it.
local function count_up(stats, totals, minute, expiry, word, jobs)
  if jobs == 0 then return end
  redis.call('HINCRBY', totals, word, jobs)
  if redis.call('HINCRBY', stats, minute .. ' ' .. word, jobs) == jobs then redis.call('EXPIRE', stats, expiry) end
end
