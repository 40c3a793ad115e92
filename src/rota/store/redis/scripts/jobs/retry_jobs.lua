-- Bring failed and cancelled jobs back into their queue as new.
--
-- KEYS[1] ready      sorted set: queued jobs by rank
-- KEYS[2] failed     sorted set: ended jobs by end time
-- KEYS[3] cancelled  sorted set: the same
-- KEYS[4] ended      hash: job id -> ending
-- KEYS[5] unique     hash: unique key -> id of the live job that has it
-- KEYS[6] marks      hash: job id -> mark
-- KEYS[7] wake       list: signal for a waiting node
-- ARGV[1...] entries  per job: id, rank, mark or '', unique key or ''
-- Returns per job 1 or 0.
-- include: wake
local ready, failed, cancelled, ended = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local unique, marks, wake = KEYS[5], KEYS[6], KEYS[7]

local function may_return(id, unique_key)
  if not redis.call('ZSCORE', failed, id) and not redis.call('ZSCORE', cancelled, id) then return false end
  return unique_key == '' or redis.call('HSETNX', unique, unique_key, id) == 1
end

local answer = {}
for i = 1, #ARGV, 4 do
  local id, rank, mark, unique_key = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  if may_return(id, unique_key) then
    redis.call('ZREM', failed, id)
    redis.call('ZREM', cancelled, id)
    redis.call('HDEL', ended, id)
    redis.call('HDEL', marks, id)
    if mark ~= '' then redis.call('HSET', marks, id, mark) end
    redis.call('ZADD', ready, rank, id)
    signal(wake)
    answer[#answer + 1] = 1
  else
    answer[#answer + 1] = 0
  end
end
return answer
