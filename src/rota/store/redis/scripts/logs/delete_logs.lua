-- Forget the logs of ended jobs of one queue; the jobs stay.
--
-- KEYS[1] ended    hash: job id -> ending
-- KEYS[2...] logs  one list per id
-- ARGV[1...] ids
-- Returns per id 1, or 0 if the job is not over.
local ended = KEYS[1]

local answer = {}
for n, id in ipairs(ARGV) do
  local log = KEYS[1 + n]
  answer[n] = redis.call('HEXISTS', ended, id)
  if answer[n] == 1 then redis.call('UNLINK', log) end
end
return answer
