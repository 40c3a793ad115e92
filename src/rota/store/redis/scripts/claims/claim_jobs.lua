-- Make due jobs ready, then hand ready jobs to a node: pop, token and pulse in one step.
--
-- KEYS[1]  jobs     hash: job id -> spec
-- KEYS[2]  ready    sorted set: queued jobs by rank
-- KEYS[3]  delayed  sorted set: delayed jobs by due time
-- KEYS[4]  held     sorted set: blocked jobs, which wait for a lock, and limited ones, which wait for a rate
-- KEYS[5]  running  hash: job id -> token, rank, when it began (0: it waits in its node's buffer)
-- KEYS[6]  locks    hash: lock key -> id of the running job that holds it
-- KEYS[7]  marks    hash: job id -> mark
-- KEYS[8]  pulses   hash: node -> its last sign of life
-- KEYS[9]  paused   string: there while the queue is paused
-- KEYS[10] wake     list: signal for a waiting node
-- KEYS[11] floors   hash: node -> serial up to which its claims come too late
-- KEYS[12] fence    string: the last fencing number
-- KEYS[13] rates    hash: rate key -> starts that count
-- KEYS[14] rates_due    sorted set: rate keys with limited jobs, by when these are looked at again
-- KEYS[15] rates_spent  sorted set: rate keys by when nothing of them counts any more
-- KEYS[16] ended    hash: job id -> ending
-- ARGV[1] now       epoch milliseconds
-- ARGV[2] token     attempt token of this claim, which is also the node's new pulse
-- ARGV[3] node
-- ARGV[4] serial    of this claim among those of the node
-- ARGV[5] limit     most jobs to hand out
-- ARGV[6] most_due  most delayed jobs to make ready
-- ARGV[7] most_scanned  most ready jobs to look at
-- ARGV[8] begin     how many of them begin at once
-- Returns the next due time or '', then per job: spec, rank, mark or '', fencing number or ''. The time is
--   `now` if jobs were set aside only, and others are left.
-- include: although_full
-- include: floors
-- include: records
-- include: locks
-- include: rates
-- include: wake
-- include: time
local jobs, ready, delayed, blocked, running = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local locks, marks, pulses, paused, wake = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local floors, fence = KEYS[11], KEYS[12]
local rates, rates_due, rates_spent, ended = KEYS[13], KEYS[14], KEYS[15], KEYS[16]
local now, token, node, serial = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local limit, most_due, most_scanned, begin = tonumber(ARGV[5]), ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8])

local server = server_time()
local clock = not_ahead(now, server)
local at = judged_at(tonumber(now), tonumber(server))

local function promote_due_jobs()
  local due = redis.call('ZRANGEBYSCORE', delayed, '-inf', clock, 'LIMIT', 0, most_due)
  if #due == 0 then return end
  local places = {}
  for n, mark in ipairs(redis.call('HMGET', marks, unpack(due))) do
    -- Without a readable mark its place is that of a job which is ready now.
    places[#places + 1] = mark_of(mark).rank or math.floor(tonumber(now) / 16)
    places[#places + 1] = due[n]
  end
  redis.call('ZADD', ready, unpack(places))
  redis.call('ZREM', delayed, unpack(due))
end

-- What is taken is counted: `#` searches for the end of a table, and every job passes here.
local total, taken, ranks, taken_marks, fences, new_running = 0, {}, {}, {}, {}, {}

-- The next fencing number. It never falls behind the time, so that it goes on growing in a store that was emptied.
local function next_fence()
  local number = math.max(tonumber(redis.call('GET', fence) or '0'), tonumber(now)) + 1
  local text = string.format('%.0f', number)
  redis.call('SET', fence, text)
  return text
end

-- A job that was in a node's hands when that died begins at once, so that a further death is counted.
local function was_at_a_death(mark)
  local past = mark and mark_of(mark).past
  local last = type(past) == 'table' and past[#past]
  return type(last) == 'table' and last.started_at == nil
end

local function take(id, rank, mark, lock)
  total = total + 1
  local begins = total <= begin or was_at_a_death(mark)
  taken[total], ranks[total], taken_marks[total] = id, rank, mark or ''
  fences[total] = lock and next_fence() or ''
  new_running[2 * total - 1], new_running[2 * total] = id, token .. ' ' .. rank .. ' ' .. (begins and now or '0')
end

-- The rates that this claim comes across: each is read once, and written at the end.
local counts = {}

local function rate_count(rate_key)
  if counts[rate_key] == nil then counts[rate_key] = count_of(rates, rates_due, rate_key, at, tonumber(server)) or false end
  return counts[rate_key]
end

-- Ended, gone, or brought back after its end and in a node's hands.
local function is_over(id)
  return redis.call('HEXISTS', jobs, id) == 0 or redis.call('HEXISTS', ended, id) == 1 or redis.call('HEXISTS', running, id) == 1
end

local function free_due_rates()
  local room = tonumber(most_due)
  for _, rate_key in ipairs(redis.call('ZRANGEBYSCORE', rates_due, '-inf', at, 'LIMIT', 0, most_due)) do
    local count = room > 0 and rate_count(rate_key)
    if count then room = room - free_limited(blocked, ready, rate_key, count, room, is_over) end
  end
end

-- A job that its rate may have allowed does not start now: another may. Each time a job leaves the ready ones, so this ends.
local function give_room_back(rate_key)
  local count = rate_key and rate_count(rate_key)
  if count then count.again = true end
end

-- One that has expired needs no start: its node only ends it.
local function may_start(mark)
  if mark.expires and mark.expires <= tonumber(now) then
    give_room_back(mark.rate)
    return true
  end
  local count = rate_count(mark.rate)
  return not count or start(count, at)
end

-- A job whose lock is taken is set aside; whoever frees the lock brings it back. So is one whose rate is used up, until the
-- rate allows it; a lock that it could have had is for the next.
local function take_or_block(id, rank, mark)
  if not mark then return take(id, rank) end
  local known = mark_of(mark)
  local lock = known.lock
  if lock and redis.call('HSETNX', locks, lock, id) == 0 then
    redis.call('ZADD', blocked, 0, blocked_member(lock, rank, id))
    give_room_back(known.rate)
  elseif known.rate and not may_start(known) then
    redis.call('ZADD', blocked, 0, waiting_member(limited_prefix(known.rate), rank, id))
    if lock then
      redis.call('HDEL', locks, lock)
      free_lock(locks, blocked, ready, lock)
    end
  else
    take(id, rank, mark, lock)
  end
end

write_although_full(running)
promote_due_jobs()
local next_due = redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')[2] or ''
if redis.call('EXISTS', paused) == 1 then return {next_due} end
local floor = redis.call('HGET', floors, node)
if floor and serial <= floor_of(floor) then return {next_due} end
local first_rate = redis.call('ZRANGE', rates_due, 0, 0, 'WITHSCORES')[2]
if limit > 0 and first_rate and tonumber(first_rate) <= at then free_due_rates() end

-- Most jobs have no mark, and often no job of a queue has one.
local has_marks = redis.call('EXISTS', marks) == 1
local scanned = 0
while total < limit and scanned < most_scanned do
  local popped = redis.call('ZPOPMIN', ready, limit - total)
  if #popped == 0 then break end
  local ids = {}
  for n = 1, #popped / 2 do ids[n] = popped[2 * n - 1] end
  local found = has_marks and redis.call('HMGET', marks, unpack(ids)) or {}
  for n = 1, #ids do take_or_block(ids[n], popped[2 * n], found[n]) end
  scanned = scanned + #ids
end

if next(counts) then
  local most_forgotten = 10 -- more than this claim adds
  for rate_key, count in pairs(counts) do
    if count then put_count(rates, rates_due, rates_spent, blocked, rate_key, count, at) end
    most_forgotten = most_forgotten + 1
  end
  forget_rates(rates, rates_due, rates_spent, blocked, at, most_forgotten)
  local before = first_rate
  first_rate = redis.call('ZRANGE', rates_due, 0, 0, 'WITHSCORES')[2]
  -- A waiting node may have planned to sleep past it.
  if first_rate and (not before or tonumber(first_rate) < tonumber(before)) then signal(wake) end
end
if first_rate and (next_due == '' or tonumber(first_rate) < tonumber(next_due)) then next_due = first_rate end

local answer = {next_due}
if total > 0 then
  local specs = redis.call('HMGET', jobs, unpack(taken))
  redis.call('HSET', running, unpack(new_running))
  redis.call('HSET', pulses, node, token)
  for n = 1, total do
    local at = 4 * n - 2
    answer[at], answer[at + 1], answer[at + 2], answer[at + 3] = specs[n], ranks[n], taken_marks[n], fences[n]
  end
end
-- What this node leaves is for another.
if redis.call('EXISTS', ready) == 1 then
  if scanned > 0 and total == 0 then answer[1] = now end
  signal(wake)
end
return answer
