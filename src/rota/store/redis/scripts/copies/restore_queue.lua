-- Keep what was counted in a queue elsewhere, its outbox and its fencing number, which only grows.
--
-- KEYS[1] outbox    sorted set: ends of jobs that are yet to be taken as events, by time
-- KEYS[2] fence     string: the last number that a run under a lock was given
-- KEYS[3...] counts  hashes: word -> how many jobs in all; then minute and word -> how many jobs, one per hour
-- ARGV[1] expiry    of the stats, in seconds
-- ARGV[2] last_fence  the last fencing number
-- ARGV[3] events    how many there are in the outbox
-- ARGV[4...] entries  per event: time, event; then per count: number of its hash (from 0, the totals), field, value
-- Returns nothing.
local outbox, fence = KEYS[1], KEYS[2]
local expiry, last_fence, counts_at = ARGV[1], ARGV[2], 4 + ARGV[3] * 2

for i = 4, counts_at - 1, 2 do redis.call('ZADD', outbox, ARGV[i], ARGV[i + 1]) end
for i = counts_at, #ARGV, 3 do
  local number, field, jobs = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local counts = KEYS[3 + number]
  redis.call('HSET', counts, field, jobs)
end
for n = 4, #KEYS do
  local stats = KEYS[n]
  redis.call('EXPIRE', stats, expiry)
end
if tonumber(last_fence) > tonumber(redis.call('GET', fence) or '0') then redis.call('SET', fence, last_fence) end
