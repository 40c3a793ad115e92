-- Write what events did to configurations: evidence, evaluations, state and jobs of each in one step, if it is the version
-- that was expected.
--
-- KEYS[1] states   hash: configuration uuid -> version, a space, state
-- KEYS[2] jobs     hash: job id -> spec
-- KEYS[3] ready    sorted set: queued jobs by rank
-- KEYS[4] delayed  sorted set: delayed jobs by due time
-- KEYS[5] unique   hash: unique key -> id of the live job that has it
-- KEYS[6] marks    hash: job id -> mark
-- KEYS[7] wake     list: signal for a waiting node
-- KEYS[8] stats    hash: minute and word -> how many jobs, of an hour
-- KEYS[9] totals   hash: word -> how many jobs in all
-- KEYS[10] series  sorted set, by name: series, time and id of each job that is in one
-- KEYS[11...] histories  per configuration: evaluations, validations, event ids
-- ARGV[1] most_evaluations  kept for each configuration
-- ARGV[2] most_validations  kept for each configuration
-- ARGV[3] minute            epoch milliseconds
-- ARGV[4] expiry            of the stats, in seconds
-- ARGV[5...] verdicts  per configuration: uuid, expected version, version, state, '1' to forget what is too old or too
--   much, validations received before this may be forgotten, number of evaluations, of validations, of jobs,
--   per evaluation: evaluation, evaluation in case its job was not made or '', number of its job (from 0) or '',
--   per validation: time of reception, validation, event id if its sender gave one or '',
--   per job: id, spec, rank, due time or '', mark or '', unique key or ''
-- Returns per configuration a list: 0, or 1 and pairs of the number of a job that was not made and the surviving one.
-- include: wake
-- include: chunks
-- include: series
-- include: admit
-- include: stats
local states, jobs, ready, delayed = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local unique, marks, wake = KEYS[5], KEYS[6], KEYS[7]
local stats, totals, series, minute, expiry = KEYS[8], KEYS[9], KEYS[10], ARGV[3], ARGV[4]
local most_evaluations, most_validations = tonumber(ARGV[1]), tonumber(ARGV[2])

local function write_evaluations(evaluations, at, count, refused)
  local is_refused = {}
  for n = 1, #refused, 2 do is_refused[tostring(refused[n])] = true end
  for n = 0, count - 1 do
    local told, otherwise, job = ARGV[at + n * 3], ARGV[at + n * 3 + 1], ARGV[at + n * 3 + 2]
    redis.call('LPUSH', evaluations, job ~= '' and is_refused[job] and otherwise or told)
  end
end

local function write_validations(validations, event_ids, at, count)
  for i = at, at + count * 3 - 1, 3 do
    local received_at, validation, id = ARGV[i], ARGV[i + 1], ARGV[i + 2]
    redis.call('ZADD', validations, received_at, validation)
    if id ~= '' then redis.call('ZADD', event_ids, received_at, id) end
  end
end

local function trim(evaluations, validations, event_ids, forget_before)
  redis.call('LTRIM', evaluations, 0, most_evaluations - 1)
  redis.call('ZREMRANGEBYRANK', validations, 0, -1 - most_validations)
  redis.call('ZREMRANGEBYSCORE', validations, '-inf', '(' .. forget_before)
  redis.call('ZREMRANGEBYRANK', event_ids, 0, -1 - most_validations)
  redis.call('ZREMRANGEBYSCORE', event_ids, '-inf', '(' .. forget_before)
end

local answer, at, made = {}, 5, 0
while at <= #ARGV do
  local n = #answer
  local evaluations, validations, event_ids = KEYS[11 + n * 3], KEYS[12 + n * 3], KEYS[13 + n * 3]
  local uuid, expected, version, state = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local is_time_to_trim, forget_before = ARGV[at + 4] == '1', ARGV[at + 5]
  local evaluation_count, validation_count = tonumber(ARGV[at + 6]), tonumber(ARGV[at + 7])
  local evaluations_at = at + 9
  local validations_at = evaluations_at + evaluation_count * 3
  local jobs_at = validations_at + validation_count * 3
  at = jobs_at + tonumber(ARGV[at + 8]) * 6
  local there = redis.call('HGET', states, uuid)
  if there and string.match(there, '^%d+') == expected then
    redis.call('HSET', states, uuid, version .. ' ' .. state)
    local refused = admit(jobs, ready, delayed, unique, marks, wake, series, ARGV, jobs_at, at - 1)
    write_evaluations(evaluations, evaluations_at, evaluation_count, refused)
    write_validations(validations, event_ids, validations_at, validation_count)
    if is_time_to_trim then trim(evaluations, validations, event_ids, forget_before) end
    made = made + (at - jobs_at) / 6 - #refused / 2
    answer[n + 1] = {1, unpack(refused)}
  else
    answer[n + 1] = {0}
  end
end
count_up(stats, totals, minute, expiry, 'enqueued', made)
return answer
