-- Move entries from the head of a foreign list into one queue, or to the dead letters, for as long as the head is what was
-- read: whoever is slower takes nothing twice. A dead letter that names its job leaves it as one that failed, with the reason;
-- it gives way to a good entry of the same id that is pushed later.
--
-- KEYS[1] waiting  list: entries that others push
-- KEYS[2] jobs     hash: job id -> spec
-- KEYS[3] ready    sorted set: queued jobs by rank
-- KEYS[4] delayed  sorted set: delayed jobs by due time
-- KEYS[5] unique   hash: unique key -> id of the live job that has it
-- KEYS[6] marks    hash: job id -> mark
-- KEYS[7] wake     list: signal for a waiting node
-- KEYS[8] queues   set: every queue that ever had jobs
-- KEYS[9] order    hash: queue -> rank and id of the job that was adopted last
-- KEYS[10] dead    list: entries that are no jobs
-- KEYS[11] stats   hash: minute and word -> how many jobs, of an hour
-- KEYS[12] totals  hash: word -> how many jobs in all
-- KEYS[13] series  sorted set, by name: series, time and id of each job that is in one
-- KEYS[14] ended   hash: job id -> ending
-- KEYS[15] failed   sorted set: failed jobs by end time
-- KEYS[16] chosen   sorted set: the latest ids that callers chose
-- ARGV[1] queue
-- ARGV[2] rank       of a job that is ready now
-- ARGV[3] most_dead  dead letters that are kept
-- ARGV[4] minute     epoch milliseconds
-- ARGV[5] expiry     of the stats, in seconds
-- ARGV[6] now        epoch milliseconds
-- ARGV[7] seen       number of the last id in `chosen` before these were looked for in other queues
-- ARGV[8...] entries  per entry: text, job id or '' if it is none, spec or dead letter or '' if nothing is made of it, mark
--   with @ for the rank or '', unique key or ''; of a dead letter that names its job: job id, spec and ending, else three
--   times ''
-- Returns how many entries were taken, then pairs of a number (from 0, among the jobs) and the id of the surviving job, for
--   jobs that were there already; or -1, and nothing happened: an id may have come to another queue since it was looked for.
-- include: wake
-- include: chunks
-- include: series
-- include: admit
-- include: stats
-- include: chosen
local waiting, jobs, ready, delayed, unique = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local marks, wake, queues, order, dead = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local stats, totals, series, minute, expiry = KEYS[11], KEYS[12], KEYS[13], ARGV[4], ARGV[5]
local ended, failed, chosen, now, seen = KEYS[14], KEYS[15], KEYS[16], ARGV[6], tonumber(ARGV[7])
local queue, now_rank, most_dead = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

-- Equal ranks are in the order of ids, and these ids are not ours: where they would turn the order, the rank goes up. It does
-- so by a part of its step, the least that a double keeps at such ranks: by whole steps, thousands of jobs would soon be
-- ranked into the future, and those that came in another way would overtake them.
local PART = 1 / 32768
local last = redis.call('HGET', order, queue) or '0 '
local last_rank, last_id = string.match(last, '^(%S+) (.*)$')
last_rank = tonumber(last_rank)
local function next_rank(id)
  local rank = math.max(now_rank, last_rank)
  if rank == last_rank and id <= last_id then rank = rank + PART end
  last_rank, last_id = rank, id
  return string.format('%.17g', rank)
end

local function was_dead_letter(id)
  local is_read, ending = pcall(cjson.decode, redis.call('HGET', ended, id) or '')
  return is_read and type(ending.errors) == 'table' and ending.errors.type == 'dead_letter'
end

local ids = {}
for i = 8, #ARGV, 8 do
  local id = ARGV[i + 1] ~= '' and ARGV[i + 1] or ARGV[i + 5]
  if id ~= '' then ids[#ids + 1] = id end
end
if came_since(chosen, seen, ids) then return {-1} end

local taken, letters, records, entries = 0, 0, 0, {}
for i = 8, #ARGV, 8 do
  local text, id, body, mark, unique_key = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
  local named, spec, ending = ARGV[i + 5], ARGV[i + 6], ARGV[i + 7]
  if redis.call('LINDEX', waiting, 0) ~= text then break end
  redis.call('LPOP', waiting)
  taken = taken + 1
  if id == '' and body ~= '' then
    redis.call('RPUSH', dead, body)
    letters = letters + 1
    if named ~= '' and redis.call('HSETNX', jobs, named, spec) == 1 then
      redis.call('HSET', ended, named, ending)
      redis.call('ZADD', failed, now, named)
      records = records + 1
    end
  elseif id ~= '' then
    local rank = next_rank(id)
    local at = #entries
    entries[at + 1], entries[at + 2], entries[at + 3] = id, body, rank
    entries[at + 4], entries[at + 5], entries[at + 6] = '', string.gsub(mark, '@', rank, 1), unique_key
  end
end
if taken > 0 then remember_chosen(chosen, ids) end
if letters > 0 then redis.call('LTRIM', dead, -most_dead, -1) end
if records > 0 then
  redis.call('SADD', queues, queue)
  count_up(stats, totals, minute, expiry, 'enqueued', records)
  count_up(stats, totals, minute, expiry, 'failed', records)
end
if #entries == 0 then return {taken} end
redis.call('SADD', queues, queue)
redis.call('HSET', order, queue, string.format('%.17g', last_rank) .. ' ' .. last_id)
local refused, again = {}, {}
local known = admit(jobs, ready, delayed, unique, marks, wake, series, entries, 1, #entries)
for i = 1, #known, 2 do
  local at = known[i] * 6
  if known[i + 1] == entries[at + 1] and was_dead_letter(known[i + 1]) then
    redis.call('HDEL', jobs, known[i + 1])
    redis.call('HDEL', ended, known[i + 1])
    redis.call('ZREM', failed, known[i + 1])
    for field = 1, 6 do again[#again + 1] = entries[at + field] end
  else
    refused[#refused + 1], refused[#refused + 2] = known[i], known[i + 1]
  end
end
admit(jobs, ready, delayed, unique, marks, wake, series, again, 1, #again)
count_up(stats, totals, minute, expiry, 'enqueued', #entries / 6 - #refused / 2)
return {taken, unpack(refused)}
