-- Forget ended jobs with their logs.
--
-- KEYS[1] jobs       hash: job id -> spec
-- KEYS[2] ended      hash: job id -> ending
-- KEYS[3] succeeded  sorted set: ended jobs by end time
-- KEYS[4] failed     sorted set: the same
-- KEYS[5] cancelled  sorted set: the same
-- KEYS[6] marks      hash: job id -> mark
-- KEYS[7...] logs    one list per id
-- ARGV[1...] ids
-- Returns per id 1 or 0.
local jobs, ended, marks = KEYS[1], KEYS[2], KEYS[6]
local succeeded, failed, cancelled = KEYS[3], KEYS[4], KEYS[5]

local answer = {}
for n, id in ipairs(ARGV) do
  local log = KEYS[6 + n]
  answer[n] = redis.call('HDEL', ended, id)
  if answer[n] == 1 then
    redis.call('HDEL', jobs, id)
    redis.call('HDEL', marks, id)
    redis.call('ZREM', succeeded, id)
    redis.call('ZREM', failed, id)
    redis.call('ZREM', cancelled, id)
    redis.call('UNLINK', log)
  end
end
return answer
