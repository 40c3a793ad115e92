-- Tell what a queued job waits behind.
--
-- KEYS[1] ready    sorted set: queued jobs by rank
-- KEYS[2] held     sorted set: blocked jobs, which wait for a lock
-- KEYS[3] locks    hash: lock key -> id of the running job that holds it
-- KEYS[4] marks    hash: job id -> mark
-- KEYS[5] rates_due  sorted set: rate keys with limited jobs, by when these are looked at again
-- ARGV[1] id
-- Returns how many jobs are given out before it, and who holds its lock or '', and until when its rate is used up or '';
--   nothing if it is not queued.
-- include: records
-- include: locks
-- include: rates
local ready, blocked, locks, marks, rates_due = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local id = ARGV[1]

local mark = mark_of(redis.call('HGET', marks, id) or '')
local holder = mark.lock and redis.call('HGET', locks, mark.lock) or ''
local ahead = redis.call('ZRANK', ready, id)
if ahead then return {ahead, holder, ''} end

-- How many wait before it under a prefix; nothing if it does not wait there.
local function ahead_under(prefix)
  local member = waiting_member(prefix, mark.rank, id)
  if not redis.call('ZSCORE', blocked, member) then return nil end
  return redis.call('ZLEXCOUNT', blocked, '[' .. prefix .. '\0', '(' .. member)
end

if not mark.rank then return {} end
ahead = mark.rate and ahead_under(limited_prefix(mark.rate))
if ahead then return {ahead, holder, redis.call('ZSCORE', rates_due, mark.rate) or ''} end
ahead = mark.lock and ahead_under(blocked_prefix(mark.lock))
return ahead and {ahead, holder, ''} or {}
