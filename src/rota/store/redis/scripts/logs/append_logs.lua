-- Add log lines of running jobs of one queue, and note how far they have come.
--
-- KEYS[1] running    hash: job id -> token, rank, when it began (0: it waits in its node's buffer)
-- KEYS[2] progress   hash: job id -> how far it has come
-- KEYS[3...] logs    one list per job
-- ARGV[1...] batches  per job: id, token, how far it has come or nothing, number of entries, the entries
-- Returns the ids whose token no longer holds the job.
local running, progress = KEYS[1], KEYS[2]

local refused, at = {}, 1
for n = 3, #KEYS do
  local log = KEYS[n]
  local id, token, note, count = ARGV[at], ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 3])
  local hold = redis.call('HGET', running, id)
  if hold and string.sub(hold, 1, #token + 1) == token .. ' ' then
    for i = at + 4, at + 3 + count do redis.call('RPUSH', log, ARGV[i]) end
    if note ~= '' then redis.call('HSET', progress, id, note) end
  else
    refused[#refused + 1] = id
  end
  at = at + 4 + count
end
return refused
