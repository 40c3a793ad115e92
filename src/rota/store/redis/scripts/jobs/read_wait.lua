-- Tell what a queued job waits behind.
--
-- KEYS[1] ready    sorted set: queued jobs by rank
-- KEYS[2] held     sorted set: blocked jobs, which wait for a lock
-- KEYS[3] locks    hash: lock key -> id of the running job that holds it
-- KEYS[4] marks    hash: job id -> mark
-- ARGV[1] id
-- Returns how many jobs are given out before it, and who holds its lock or ''; nothing if it is not queued.
-- include: records
-- include: locks
local ready, blocked, locks, marks = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id = ARGV[1]

local mark = mark_of(redis.call('HGET', marks, id) or '')
local holder = mark.lock and redis.call('HGET', locks, mark.lock) or ''
local ahead = redis.call('ZRANK', ready, id)
if ahead then return {ahead, holder} end
if not (mark.lock and mark.rank) then return {} end
local member = blocked_member(mark.lock, mark.rank, id)
if not redis.call('ZSCORE', blocked, member) then return {} end
return {redis.call('ZLEXCOUNT', blocked, '[' .. blocked_prefix(mark.lock) .. '\0', '(' .. member), holder}
