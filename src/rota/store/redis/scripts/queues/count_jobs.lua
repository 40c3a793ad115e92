-- Count the jobs of one queue by state, all at one moment.
--
-- KEYS[1] delayed    sorted set: delayed jobs by due time
-- KEYS[2] ready      sorted set: queued jobs by rank
-- KEYS[3] held       sorted set: blocked jobs, which wait for a lock
-- KEYS[4] running    hash: job id -> token, rank, claim time
-- KEYS[5] succeeded  sorted set: ended jobs by end time
-- KEYS[6] failed     sorted set: the same
-- KEYS[7] cancelled  sorted set: the same
-- ARGV none
-- Returns six numbers: delayed, queued, running, succeeded, failed, cancelled.
local delayed, ready, blocked, running = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local succeeded, failed, cancelled = KEYS[5], KEYS[6], KEYS[7]

return {
  redis.call('ZCARD', delayed),
  redis.call('ZCARD', ready) + redis.call('ZCARD', blocked),
  redis.call('HLEN', running),
  redis.call('ZCARD', succeeded),
  redis.call('ZCARD', failed),
  redis.call('ZCARD', cancelled),
}
