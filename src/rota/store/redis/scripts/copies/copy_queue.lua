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
-- Returns lists: per place (ready, delayed, held, running) what is there with ids, and the specs and the marks of these jobs in
--   chunks; the jobs that are to be cancelled; ids of ended jobs by state; per schedule uuid, body, state, or what that says of
--   one on its way to another queue; the same per configuration; the outbox; fence, 1 if paused; words and numbers of the
--   totals. Nobody else is served meanwhile, so what commands give is passed on as it is.
-- include: chunks
local jobs, marks, ready, delayed, blocked = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local running, cancelling, succeeded, failed, cancelled = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local schedules, schedule_states, configurations, configuration_states = KEYS[11], KEYS[12], KEYS[13], KEYS[14]
local outbox, fence, totals, paused = KEYS[15], KEYS[16], KEYS[17], KEYS[18]

local function with_records(there, ids)
  local specs, known = {}, {}
  for first = 1, #ids, CHUNK do
    local last = last_of(first, ids)
    specs[#specs + 1] = redis.call('HMGET', jobs, unpack(ids, first, last))
    known[#known + 1] = redis.call('HMGET', marks, unpack(ids, first, last))
  end
  return {there, specs, known}
end

local function sorted(key)
  return with_records(redis.call('ZRANGE', key, 0, -1, 'WITHSCORES'), redis.call('ZRANGE', key, 0, -1))
end

local members, blocked_ids = redis.call('ZRANGE', blocked, 0, -1), {}
for n, member in ipairs(members) do blocked_ids[n] = string.match(member, '([^%z]*)$') end

local function defined(bodies, states)
  local found, all = {}, redis.call('HGETALL', bodies)
  for n = 1, #all, 2 do
    local state = redis.call('HGET', states, all[n]) or ''
    for _, part in ipairs({all[n], all[n + 1], string.match(state, '^%d+ (.*)$') or state}) do found[#found + 1] = part end
  end
  return found
end

return {
  sorted(ready), sorted(delayed), with_records(members, blocked_ids),
  with_records(redis.call('HGETALL', running), redis.call('HKEYS', running)), redis.call('HKEYS', cancelling),
  {redis.call('ZRANGE', succeeded, 0, -1), redis.call('ZRANGE', failed, 0, -1), redis.call('ZRANGE', cancelled, 0, -1)},
  defined(schedules, schedule_states), defined(configurations, configuration_states),
  redis.call('ZRANGE', outbox, 0, -1), {redis.call('GET', fence) or '0', redis.call('EXISTS', paused)},
  redis.call('HGETALL', totals),
}
