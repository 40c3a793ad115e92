-- Make due jobs ready, then hand ready jobs to a node: pop, token and lease in one step.
--
-- KEYS[1]  jobs     hash: job id -> spec
-- KEYS[2]  ready    sorted set: queued jobs by rank
-- KEYS[3]  delayed  sorted set: delayed jobs by due time
-- KEYS[4]  held     sorted set: jobs that wait for a lock
-- KEYS[5]  running  hash: job id -> token, rank, claim time
-- KEYS[6]  locks    hash: lock key -> id of the running job that holds it
-- KEYS[7]  marks    hash: job id -> mark
-- KEYS[8]  leases   sorted set: node by the end of its lease
-- KEYS[9]  paused   string: there while the queue is paused
-- KEYS[10] wake     list: word for a waiting node
-- ARGV[1] now          epoch milliseconds
-- ARGV[2] token        attempt token of this claim
-- ARGV[3] node         whose lease is extended
-- ARGV[4] limit        most jobs to hand out
-- ARGV[5] lease_until  epoch milliseconds
-- ARGV[6] most_due     most delayed jobs to make ready
-- ARGV[7] most_scanned  most ready jobs to look at
-- Returns the next due time or '', then per job: spec, rank, mark or ''. The time is `now` if jobs were set aside only, and
--   others are left.
-- include: although_full
-- include: locks
-- include: wake
local jobs, ready, delayed, held, running = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local locks, marks, leases, paused, wake = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local now, token, node, limit = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local lease_until, most_due, most_scanned = ARGV[5], ARGV[6], tonumber(ARGV[7])

local function promote_due_jobs()
  local due = redis.call('ZRANGEBYSCORE', delayed, '-inf', now, 'LIMIT', 0, most_due)
  if #due == 0 then return end
  local places = {}
  for n, mark in ipairs(redis.call('HMGET', marks, unpack(due))) do
    places[#places + 1] = cjson.decode(mark).rank
    places[#places + 1] = due[n]
  end
  redis.call('ZADD', ready, unpack(places))
  redis.call('ZREM', delayed, unpack(due))
end

local taken, ranks, taken_marks, new_running = {}, {}, {}, {}

local function take(id, rank, mark)
  taken[#taken + 1] = id
  ranks[#ranks + 1] = rank
  taken_marks[#taken_marks + 1] = mark or ''
  new_running[#new_running + 1] = id
  new_running[#new_running + 1] = token .. ' ' .. rank .. ' ' .. now
end

-- A job whose lock is taken is set aside; whoever frees the lock brings it back.
local function take_or_hold(id, rank, mark)
  local lock = mark and cjson.decode(mark).lock
  if lock and redis.call('HSETNX', locks, lock, id) == 0 then
    redis.call('ZADD', held, 0, held_member(lock, rank, id))
  else
    take(id, rank, mark)
  end
end

write_although_full(running)
promote_due_jobs()
local next_due = redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')[2] or ''
if redis.call('EXISTS', paused) == 1 then return {next_due} end

local scanned = 0
while #taken < limit and scanned < most_scanned do
  local popped = redis.call('ZPOPMIN', ready, limit - #taken)
  if #popped == 0 then break end
  local ids = {}
  for n = 1, #popped, 2 do ids[#ids + 1] = popped[n] end
  local found = redis.call('HMGET', marks, unpack(ids))
  for n, id in ipairs(ids) do take_or_hold(id, popped[n * 2], found[n]) end
  scanned = scanned + #ids
end

local answer = {next_due}
if #taken > 0 then
  local specs = redis.call('HMGET', jobs, unpack(taken))
  redis.call('HSET', running, unpack(new_running))
  redis.call('ZADD', leases, lease_until, node)
  for n = 1, #taken do
    answer[#answer + 1] = specs[n]
    answer[#answer + 1] = ranks[n]
    answer[#answer + 1] = taken_marks[n]
  end
end
-- What this node leaves is for another.
if redis.call('EXISTS', ready) == 1 then
  if scanned > 0 and #taken == 0 then answer[1] = now end
  leave_word(wake)
end
return answer
