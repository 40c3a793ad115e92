-- Add log lines of running jobs of one queue.
--
-- KEYS[1] running    hash: job id -> token, rank, when it began (0: it waits in its node's buffer)
-- KEYS[2...] logs    one list per job
-- ARGV[1...] batches  per job: id, token, number of entries, the entries
-- Returns the ids whose token no longer holds the job.
local running = KEYS[1]

local refused, at = {}, 1
for n = 2, #KEYS do
  local log = KEYS[n]
  local id, token, count = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
  local hold = redis.call('HGET', running, id)
  if hold and string.sub(hold, 1, #token + 1) == token .. ' ' then
    for i = at + 3, at + 2 + count do redis.call('RPUSH', log, ARGV[i]) end
  else
    refused[#refused + 1] = id
  end
  at = at + 3 + count
end
return refused
