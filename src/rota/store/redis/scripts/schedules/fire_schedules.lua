-- Carry out decisions about schedules: rows, jobs and state of each in one step, if it is the version that was expected.
-- Jobs that must give way are cancelled, or marked if they run, in the same step; those that are not in this queue are kept
-- in mind until the caller has cancelled them.
--
-- KEYS[1] states   hash: schedule uuid -> version, a space, state
-- KEYS[2] schedule_due  sorted set: schedule uuid by the time at which it is to be decided
-- KEYS[3] jobs     hash: job id -> spec
-- KEYS[4] ready    sorted set: queued jobs by rank
-- KEYS[5] delayed  sorted set: delayed jobs by due time
-- KEYS[6] unique   hash: unique key -> id of the live job that has it
-- KEYS[7] marks    hash: job id -> mark
-- KEYS[8] wake     list: signal for a waiting node
-- KEYS[9] stats    hash: minute and word -> how many jobs, of an hour
-- KEYS[10] totals  hash: word -> how many jobs in all
-- KEYS[11] running    hash: job id -> token, rank, when it began (0: it waits in its node's buffer)
-- KEYS[12] ended      hash: job id -> ending
-- KEYS[13] locks      hash: lock key -> id of the running job that holds it
-- KEYS[14] held       sorted set: blocked jobs, which wait for a lock
-- KEYS[15] cancelled  sorted set: ended jobs by end time
-- KEYS[16] cancelling  hash: running jobs that are to be cancelled
-- KEYS[17] series     sorted set, by name: series, time and id of each job that is in one
-- KEYS[18] outbox     sorted set: ends of jobs that are yet to be taken as events, by time
-- KEYS[19] awaited_since  string: the version of the definitions that the caller must know if jobs give way
-- KEYS[20] rates_due  sorted set: rate keys with limited jobs, by when these are looked at again
-- KEYS[21] giving_way  set: jobs of other queues that are yet to be cancelled
-- KEYS[22...] ticks  one sorted set per firing
-- ARGV[1] minute   epoch milliseconds
-- ARGV[2] expiry   of the stats, in seconds
-- ARGV[3] most_ticks  rows kept for each schedule
-- ARGV[4] now      epoch milliseconds
-- ARGV[5] ending   for a waiting job that gives way
-- ARGV[6] cancel_count  how many jobs give way
-- ARGV[7] event_count  how many of their ends are events, should these jobs be waiting
-- ARGV[8] known    the version of the definitions by which the events were chosen
-- ARGV[9...] firings  per such end: job id, time, event; per job that gives way: number of the firing (from 1), id; per firing: uuid, expected version, version and state, due time or '', number of rows, number of
--   jobs, whether to forget old rows (1 or ''), version and state in case a job of it was not made or '', due time of that or '',
--   per row: nominal instant, row, row in case its job was not made or '', id of its job or '',
--   per job: id, spec, rank, due time or '', mark or '', unique key or ''
-- Returns per firing 1 or 0, then per running job that gives way: id, token that holds it, or '' if this queue does not have it;
--   or, and nothing happened, the version that must be known.
-- include: wake
-- include: chunks
-- include: series
-- include: admit
-- include: stats
-- include: locks
-- include: rates
-- include: records
-- include: cancel
-- include: ends
local states, schedule_due, jobs, ready, delayed = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local unique, marks, wake, stats, totals = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local running, ended, locks, blocked, cancelled, cancelling = KEYS[11], KEYS[12], KEYS[13], KEYS[14], KEYS[15], KEYS[16]
local series, outbox, awaited_since, rates_due, giving_way = KEYS[17], KEYS[18], KEYS[19], KEYS[20], KEYS[21]
local minute, expiry, oldest_kept = ARGV[1], ARGV[2], -1 - tonumber(ARGV[3])
local now, ending, known = ARGV[4], ARGV[5], ARGV[8]
local first_cancel = 9 + ARGV[7] * 3
local cancels_end = first_cancel - 1 + ARGV[6] * 2
local FIXED, HEAD, ROW, JOB = 21, 9, 4, 6

local newer = ARGV[6] ~= '0' and version_to_learn(awaited_since, known)
if newer then return newer end

-- Where each firing begins, and the state of its schedule.
local starts, uuids = {}, {}
local at = cancels_end + 1
for n = 1, #KEYS - FIXED do
  starts[n], uuids[n] = at, ARGV[at]
  at = at + HEAD + ARGV[at + 4] * ROW + ARGV[at + 5] * JOB
end
local there = #uuids > 0 and get_all(states, uuids) or {}

-- The firings that are carried out, and their jobs. A schedule is fired once in a call.
local answer, entries, done = {}, {}, {}
for n, uuid in ipairs(uuids) do
  local first = starts[n]
  answer[n] = 0
  if there[n] and not done[uuid] and string.match(there[n], '^%d+') == ARGV[first + 1] then
    answer[n], done[uuid] = 1, true
    local jobs_at = first + HEAD + ARGV[first + 4] * ROW
    for i = jobs_at, jobs_at + ARGV[first + 5] * JOB - 1 do entries[#entries + 1] = ARGV[i] end
  end
end

local told, cancelled_count, is_over = {}, 0, {}
for i = first_cancel, cancels_end, 2 do
  local number, id = tonumber(ARGV[i]), ARGV[i + 1]
  local word = answer[number] == 1 and cancel(
    jobs, ready, delayed, blocked, running, locks, unique, marks, ended, cancelled, cancelling, rates_due, wake, id, now, ending
  ) or ''
  if word == 'cancelled' then
    cancelled_count = cancelled_count + 1
    is_over[id] = true
  elseif word == 'unknown' or string.find(word, '/', 1, true) then
    told[#told + 1] = id
    told[#told + 1] = word == 'unknown' and '' or word
    if word == 'unknown' then redis.call('SADD', giving_way, id) end
  end
end
count_up(stats, totals, minute, expiry, 'cancelled', cancelled_count)
tell_ends(outbox, ARGV, 9, first_cancel - 1, is_over)

local refused, is_refused = admit(jobs, ready, delayed, unique, marks, wake, series, entries, 1, #entries), {}
count_up(stats, totals, minute, expiry, 'enqueued', #entries / JOB - #refused / 2)
for i = 1, #refused, 2 do is_refused[entries[refused[i] * JOB + 1]] = true end

local new_states, new_due, over = {}, {}, {}
for n, uuid in ipairs(uuids) do
  local first, ticks = starts[n], KEYS[FIXED + n]
  if answer[n] == 1 then
    local state_at = first + 2
    for row = first + HEAD, first + HEAD + ARGV[first + 4] * ROW - 1, ROW do
      local was_refused = is_refused[ARGV[row + 3]]
      redis.call('ZADD', ticks, ARGV[row], was_refused and ARGV[row + 2] or ARGV[row + 1])
      if was_refused and ARGV[first + 7] ~= '' then state_at = first + 7 end
    end
    if ARGV[first + 6] ~= '' then redis.call('ZREMRANGEBYRANK', ticks, 0, oldest_kept) end
    new_states[#new_states + 1] = uuid
    new_states[#new_states + 1] = ARGV[state_at]
    if ARGV[state_at + 1] == '' then
      over[#over + 1] = uuid
    else
      new_due[#new_due + 1] = ARGV[state_at + 1]
      new_due[#new_due + 1] = uuid
    end
  end
end
set_all(states, new_states)
add_all(schedule_due, new_due)
if #over > 0 then redis.call('ZREM', schedule_due, unpack(over)) end
for _, part in ipairs(told) do answer[#answer + 1] = part end
return answer
