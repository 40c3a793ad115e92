-- Forget the logs of ended jobs of one queue, and how far these had come; the jobs stay.
--
-- KEYS[1] ended     hash: job id -> ending
-- KEYS[2] progress  hash: job id -> progress
-- KEYS[3...] logs   one list per id
-- ARGV[1...] ids
-- Returns per id 1, or 0 if the job is not over.
local ended, progress = KEYS[1], KEYS[2]

local answer = {}
for n, id in ipairs(ARGV) do
  local log = KEYS[2 + n]
  answer[n] = redis.call('HEXISTS', ended, id)
  if answer[n] == 1 then
    redis.call('UNLINK', log)
    redis.call('HDEL', progress, id)
  end
end
return answer
