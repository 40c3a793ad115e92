-- Read everything of a queue as of this moment, but the histories of what is in it.
--
-- KEYS[1] jobs        hash: job id -> spec
-- KEYS[2] marks       hash: job id -> mark
-- KEYS[3] ready       sorted set: queued jobs by rank
-- KEYS[4] delayed     sorted set: delayed jobs by due time
-- KEYS[5] held        sorted set: blocked jobs, which wait for a lock
-- KEYS[6] running     hash: job id -> token, rank, when it began (0: it waits in its node's buffer)
-- KEYS[7] cancelling  hash: running jobs that are to be cancelled
-- KEYS[8] succeeded   sorted set: ended jobs by end time
-- KEYS[9] failed      sorted set: the same
-- KEYS[10] cancelled  sorted set: the same
-- KEYS[11] schedules  hash: schedule uuid -> schedule
-- KEYS[12] schedule_states  hash: schedule uuid -> version, a space, state
-- KEYS[13] configurations   hash: configuration uuid -> configuration
-- KEYS[14] configuration_states  hash: configuration uuid -> version, a space, state
-- KEYS[15] outbox     sorted set: ends of jobs that are yet to be taken as events, by time
-- KEYS[16] fence      string: the last number that a run under a lock was given
-- KEYS[17] totals     hash: word -> how many jobs in all
-- KEYS[18] paused     string: there while the queue is paused
-- ARGV none
-- Returns lists: per live job its id and what `find_jobs` returns for it; ids of ended jobs; per schedule uuid, body, state;
--   the same per configuration; the outbox; fence, 1 if paused; words and numbers of the totals.
-- include: records
-- include: chunks
local jobs, marks, ready, delayed, blocked = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local running, cancelling, succeeded, failed, cancelled = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local schedules, schedule_states, configurations, configuration_states = KEYS[11], KEYS[12], KEYS[13], KEYS[14]
local outbox, fence, totals, paused = KEYS[15], KEYS[16], KEYS[17], KEYS[18]

local ids, places, theres = {}, {}, {}
local function add(id, place, there)
  ids[#ids + 1], places[#places + 1], theres[#theres + 1] = id, place, there
end

local function add_scored(key, place)
  local found = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  for n = 1, #found, 2 do add(found[n], place, found[n + 1]) end
end

add_scored(ready, 'queued')
add_scored(delayed, 'delayed')
for _, member in ipairs(redis.call('ZRANGE', blocked, 0, -1)) do
  local id = string.match(member, '([^%z]*)$')
  add(id, 'queued', mark_of(redis.call('HGET', marks, id) or '').rank or '0')
end
local held = redis.call('HGETALL', running)
for n = 1, #held, 2 do add(held[n], 'running', held[n + 1]) end

local live = {}
local specs = #ids > 0 and get_all(jobs, ids) or {}
local known = #ids > 0 and get_all(marks, ids) or {}
for n, id in ipairs(ids) do
  if specs[n] then
    local is_cancelling = places[n] == 'running' and redis.call('HGET', cancelling, id) or ''
    for _, part in ipairs({id, specs[n], places[n], theres[n], known[n] or '', is_cancelling}) do live[#live + 1] = part end
  end
end

local ended = {}
local function add_ended(key)
  for _, id in ipairs(redis.call('ZRANGE', key, 0, -1)) do ended[#ended + 1] = id end
end
add_ended(succeeded)
add_ended(failed)
add_ended(cancelled)

local function defined(bodies, states)
  local found, all = {}, redis.call('HGETALL', bodies)
  for n = 1, #all, 2 do
    local state = redis.call('HGET', states, all[n]) or ''
    for _, part in ipairs({all[n], all[n + 1], string.match(state, '^%d+ (.*)$') or ''}) do found[#found + 1] = part end
  end
  return found
end

return {
  live, ended, defined(schedules, schedule_states), defined(configurations, configuration_states),
  redis.call('ZRANGE', outbox, 0, -1), {redis.call('GET', fence) or '0', redis.call('EXISTS', paused)},
  redis.call('HGETALL', totals),
}
