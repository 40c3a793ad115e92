-- Forget ended jobs with their logs.
--
-- KEYS[1] jobs       hash: job id -> spec
-- KEYS[2] ended      hash: job id -> ending
-- KEYS[3] succeeded  sorted set: ended jobs by end time
-- KEYS[4] failed     sorted set: the same
-- KEYS[5] cancelled  sorted set: the same
-- KEYS[6] marks      hash: job id -> mark
-- KEYS[7] series     sorted set, by name: series, time and id of each job that is in one
-- KEYS[8] progress   hash: job id -> how far it has come
-- KEYS[9...] logs    one list per id
-- ARGV[1...] ids
-- Returns per id 1 or 0.
-- include: series
local jobs, ended, marks, series, progress = KEYS[1], KEYS[2], KEYS[6], KEYS[7], KEYS[8]
local succeeded, failed, cancelled = KEYS[3], KEYS[4], KEYS[5]

local has_series = redis.call('EXISTS', series) == 1
local answer, gone = {}, {}
for n, id in ipairs(ARGV) do
  local log = KEYS[8 + n]
  answer[n] = redis.call('HDEL', ended, id)
  if answer[n] == 1 then
    gone[#gone + 1] = id
    redis.call('UNLINK', log)
    local spec = has_series and redis.call('HGET', jobs, id)
    for _, member in ipairs(series_members(spec, id)) do redis.call('ZREM', series, member) end
  end
end

if #gone > 0 then
  redis.call('HDEL', jobs, unpack(gone))
  redis.call('HDEL', marks, unpack(gone))
  redis.call('HDEL', progress, unpack(gone))
  redis.call('ZREM', succeeded, unpack(gone))
  redis.call('ZREM', failed, unpack(gone))
  redis.call('ZREM', cancelled, unpack(gone))
end
return answer
