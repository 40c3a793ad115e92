-- Forget rates of which nothing counts any more and for which nobody waits.
--
-- KEYS[1] rates        hash: rate key -> starts that count
-- KEYS[2] rates_due    sorted set: rate keys with limited jobs, by when these are looked at again
-- KEYS[3] rates_spent  sorted set: rate keys by when nothing of them counts any more
-- KEYS[4] held         sorted set: blocked jobs, which wait for a lock, and limited ones, which wait for a rate
-- ARGV[1] now    epoch milliseconds
-- ARGV[2] limit  most of them
-- Returns how many.
-- include: locks
-- include: rates
-- include: time
local rates, rates_due, rates_spent, blocked = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local now, limit = ARGV[1], ARGV[2]

return forget_rates(rates, rates_due, rates_spent, blocked, not_ahead(now), limit)
