-- Add log lines of running jobs of one queue, and note how far they have come.
--
-- KEYS[1] running    hash: job id -> token, rank, when it began (0: it waits in its node's buffer)
-- KEYS[2] progress   hash: job id -> how far it has come
-- KEYS[3...] logs    one list per job
-- ARGV[1...] batches  per job: id, token, how far it has come or nothing, the entries, each in a line
-- Returns the ids whose token no longer holds the job.
local running, progress = KEYS[1], KEYS[2]
local most = 1000 -- values of one command; Lua's stack takes a few thousand

local function append(log, lines)
  local values = {}
  for line in string.gmatch(lines, '[^\n]+') do
    values[#values + 1] = line
    if #values == most then
      redis.call('RPUSH', log, unpack(values))
      values = {}
    end
  end
  if #values > 0 then redis.call('RPUSH', log, unpack(values)) end
end

local refused, at = {}, 1
for n = 3, #KEYS do
  local log = KEYS[n]
  local id, token, note, lines = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local hold = redis.call('HGET', running, id)
  if hold and string.sub(hold, 1, #token + 1) == token .. ' ' then
    append(log, lines)
    if note ~= '' then redis.call('HSET', progress, id, note) end
  else
    refused[#refused + 1] = id
  end
  at = at + 4
end
return refused
