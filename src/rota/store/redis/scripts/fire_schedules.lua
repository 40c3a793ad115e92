-- Carry out decisions about schedules: rows, jobs and state of each in one step, if it is the version that was expected.
--
-- KEYS[1] states   hash: schedule uuid -> version, a space, state
-- KEYS[2] schedule_due  sorted set: schedule uuid by the time at which it is to be decided
-- KEYS[3] jobs     hash: job id -> spec
-- KEYS[4] ready    sorted set: queued jobs by rank
-- KEYS[5] delayed  sorted set: delayed jobs by due time
-- KEYS[6] unique   hash: unique key -> id of the live job that has it
-- KEYS[7] marks    hash: job id -> mark
-- KEYS[8] wake     list: word for a waiting node
-- KEYS[9...] ticks  one sorted set per firing
-- ARGV[1] most_ticks  rows kept for each schedule
-- ARGV[2...] firings  per firing: uuid, expected version, version, state, due time or '', number of rows, number of jobs,
--   per row: nominal instant, row, row in case its job was not made or '', number of its job (from 0) or '',
--   per job: id, spec, rank, due time or '', mark or '', unique key or ''
-- Returns per firing 1 or 0.
-- include: wake
-- include: admit
local states, schedule_due, jobs, ready, delayed = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local unique, marks, wake = KEYS[6], KEYS[7], KEYS[8]
local most_ticks = tonumber(ARGV[1])

local function write_rows(ticks, at, count, refused)
  local skipped = {}
  for n = 1, #refused, 2 do skipped[tostring(refused[n])] = true end
  for n = 0, count - 1 do
    local nominal, row, otherwise, job = ARGV[at + n * 4], ARGV[at + n * 4 + 1], ARGV[at + n * 4 + 2], ARGV[at + n * 4 + 3]
    if job ~= '' and skipped[job] then row = otherwise end
    redis.call('ZADD', ticks, nominal, row)
  end
  redis.call('ZREMRANGEBYRANK', ticks, 0, -1 - most_ticks)
end

local new_states, new_due, over, answer = {}, {}, {}, {}
local at, done = 2, {}
for n = 9, #KEYS do
  local ticks = KEYS[n]
  local uuid, expected, version, state, next_due = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  local row_count, job_count = tonumber(ARGV[at + 5]), tonumber(ARGV[at + 6])
  local rows_at = at + 7
  local jobs_at = rows_at + row_count * 4
  at = jobs_at + job_count * 6
  local there = redis.call('HGET', states, uuid)
  if there and not done[uuid] and string.match(there, '^%d+') == expected then
    done[uuid] = true
    local refused = admit(jobs, ready, delayed, unique, marks, wake, ARGV, jobs_at, at - 1)
    if row_count > 0 then write_rows(ticks, rows_at, row_count, refused) end
    new_states[#new_states + 1] = uuid
    new_states[#new_states + 1] = version .. ' ' .. state
    if next_due == '' then
      over[#over + 1] = uuid
    else
      new_due[#new_due + 1] = next_due
      new_due[#new_due + 1] = uuid
    end
    answer[#answer + 1] = 1
  else
    answer[#answer + 1] = 0
  end
end
if #new_states > 0 then redis.call('HSET', states, unpack(new_states)) end
if #new_due > 0 then redis.call('ZADD', schedule_due, unpack(new_due)) end
if #over > 0 then redis.call('ZREM', schedule_due, unpack(over)) end
return answer
