-- Carry out settlements of claimed jobs, each only if its token holds the job.
--
-- KEYS[1]  running     hash: job id -> token, rank, when it began (0: it waits in its node's buffer)
-- KEYS[2]  ended       hash: job id -> ending
-- KEYS[3]  succeeded   sorted set: ended jobs by end time
-- KEYS[4]  failed      sorted set: the same
-- KEYS[5]  cancelled   sorted set: the same
-- KEYS[6]  ready       sorted set: queued jobs by rank
-- KEYS[7]  delayed     sorted set: delayed jobs by due time
-- KEYS[8]  held        sorted set: blocked jobs, which wait for a lock
-- KEYS[9]  locks       hash: lock key -> id of the running job that holds it
-- KEYS[10] unique      hash: unique key -> id of the live job that has it
-- KEYS[11] marks       hash: job id -> mark
-- KEYS[12] cancelling  hash: running jobs that are to be cancelled
-- KEYS[13] pulses      hash: node -> its last sign of life
-- KEYS[14] wake        list: signal for a waiting node
-- KEYS[15] stats       hash: minute and word -> how many jobs, of an hour
-- KEYS[16] totals      hash: word -> how many jobs in all
-- KEYS[17] outbox      sorted set: ends of jobs that are yet to be taken as events, by time
-- KEYS[18] awaited_since  string: the version of the definitions that the caller must know
-- ARGV[1] now         epoch milliseconds
-- ARGV[2] node        on whose behalf: refuse everything if it has another pulse than the next; '' for one's own
-- ARGV[3] pulse       that was seen of that node
-- ARGV[4] minute      epoch milliseconds
-- ARGV[5] expiry      of the stats, in seconds
-- ARGV[6] event_count  how many of the ends are events; those of returning jobs are if these are to be cancelled
-- ARGV[7] known       the version of the definitions by which the events were chosen
-- ARGV[8...] entries  per such end: job id, time, event;
--   per job: id, token, new state, its score (end time, due time or rank), ending (final) or mark (returning),
--   and for a returning job its ending in case it is to be cancelled, else ''
-- Returns the ids that were not carried out; or, and nothing happened, the version that must be known.
-- include: although_full
-- include: records
-- include: locks
-- include: wake
-- include: stats
-- include: ends
local running, ended, ready, delayed, blocked = KEYS[1], KEYS[2], KEYS[6], KEYS[7], KEYS[8]
local locks, unique, marks, cancelling = KEYS[9], KEYS[10], KEYS[11], KEYS[12]
local pulses, wake = KEYS[13], KEYS[14]
local succeeded, failed, cancelled = KEYS[3], KEYS[4], KEYS[5]
local stats, totals, outbox, awaited_since = KEYS[15], KEYS[16], KEYS[17], KEYS[18]
local now, node, pulse, minute, expiry = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local event_count, known = tonumber(ARGV[6]), ARGV[7]
local WIDTH = 6
local first = 8 + event_count * 3
local is_allowed = node == '' or redis.call('HGET', pulses, node) == pulse

local newer = version_to_learn(awaited_since, known)
if newer then return newer end

write_although_full(running)
local ids = {}
for n = 1, (#ARGV - first + 1) / WIDTH do ids[n] = ARGV[first + (n - 1) * WIDTH] end
local holds = redis.call('HMGET', running, unpack(ids))
local old_marks = redis.call('EXISTS', marks) == 1 and redis.call('HMGET', marks, unpack(ids)) or {}
local some_cancelling = redis.call('EXISTS', cancelling) == 1

-- Jobs that were claimed together have the same token.
local last_token, beginning
local function is_held(hold, token)
  if token ~= last_token then last_token, beginning = token, token .. ' ' end
  return is_allowed and hold and string.sub(hold, 1, #beginning) == beginning
end

-- A job that goes back has the place that it had. Only its hold knows that exactly: the caller has whole ranks, and those of
-- adopted jobs have a part behind the point.
local function as_it_came(hold, mark)
  local rank = string.match(hold, ' (%S+) %S+$')
  return rank, (string.gsub(mark, '"rank":"[^"]*"', '"rank":"' .. rank .. '"', 1))
end

local left, over, freed_marks, freed_locks, refused = {}, {}, {}, {}, {}
local places = {succeeded = {}, failed = {}, cancelled = {}, queued = {}, delayed = {}}

local function add(list, one, other)
  local last = #list
  list[last + 1], list[last + 2] = one, other
end

local function finish(id, state, score, ending, mark)
  add(places[state], score, id)
  add(over, id, ending)
  if mark then
    freed_marks[#freed_marks + 1] = id
    if mark.unique then redis.call('HDEL', unique, mark.unique) end
  end
end

local done = {}
for n, id in ipairs(ids) do
  local at = first - 1 + (n - 1) * WIDTH
  local token, state, score, body, if_cancelled = ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5], ARGV[at + 6]
  if done[id] or not is_held(holds[n], token) then
    refused[#refused + 1] = id
  else
    done[id] = true
    left[#left + 1] = id
    local mark = old_marks[n] and mark_of(old_marks[n])
    local to_cancel = some_cancelling and redis.call('HDEL', cancelling, id) == 1
    if if_cancelled == '' then
      finish(id, state, score, body, mark)
    elseif to_cancel then
      finish(id, 'cancelled', now, if_cancelled, mark)
    else
      if state == 'queued' then score, body = as_it_came(holds[n], body) end
      add(places[state], score, id)
      redis.call('HSET', marks, id, body)
    end
    if mark and mark.lock then
      redis.call('HDEL', locks, mark.lock)
      freed_locks[#freed_locks + 1] = mark.lock
    end
  end
end

if event_count > 0 then
  local is_over = {}
  for i = 1, #over, 2 do is_over[over[i]] = true end
  tell_ends(outbox, ARGV, 8, first - 1, is_over)
end
if #left > 0 then redis.call('HDEL', running, unpack(left)) end
if #over > 0 then redis.call('HSET', ended, unpack(over)) end
if #freed_marks > 0 then redis.call('HDEL', marks, unpack(freed_marks)) end
if #places.succeeded > 0 then redis.call('ZADD', succeeded, unpack(places.succeeded)) end
if #places.failed > 0 then redis.call('ZADD', failed, unpack(places.failed)) end
if #places.cancelled > 0 then redis.call('ZADD', cancelled, unpack(places.cancelled)) end
if #places.delayed > 0 then redis.call('ZADD', delayed, unpack(places.delayed)) end
if #places.queued > 0 then redis.call('ZADD', ready, unpack(places.queued)) end
for _, word in ipairs({'succeeded', 'failed', 'cancelled'}) do
  count_up(stats, totals, minute, expiry, word, #places[word] / 2)
end
local woken = #places.queued > 0 or #places.delayed > 0
for _, lock in ipairs(freed_locks) do woken = free_lock(locks, blocked, ready, lock) or woken end
if woken then signal(wake) end
return refused
