-- Count the jobs of one queue by state, all at one moment.
--
-- KEYS[1] delayed    sorted set: delayed jobs by due time
-- KEYS[2] ready      sorted set: queued jobs by rank
-- KEYS[3] held       sorted set: blocked jobs, which wait for a lock
-- KEYS[4] running    hash: job id -> token, rank, when it began (0: it waits in its node's buffer)
-- KEYS[5] succeeded  sorted set: ended jobs by end time
-- KEYS[6] failed     sorted set: the same
-- KEYS[7] cancelled  sorted set: the same
-- ARGV none
-- Returns six numbers: delayed, queued, running, succeeded, failed, cancelled.
local delayed, ready, blocked, running = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local succeeded, failed, cancelled = KEYS[5], KEYS[6], KEYS[7]

-- As many as there are slots in all, and a few more: nobody keeps count of those that only wait.
local held, buffered = redis.call('HVALS', running), 0
for _, hold in ipairs(held) do
  if string.sub(hold, -2) == ' 0' then buffered = buffered + 1 end
end

return {
  redis.call('ZCARD', delayed),
  redis.call('ZCARD', ready) + redis.call('ZCARD', blocked) + buffered,
  #held - buffered,
  redis.call('ZCARD', succeeded),
  redis.call('ZCARD', failed),
  redis.call('ZCARD', cancelled),
}
