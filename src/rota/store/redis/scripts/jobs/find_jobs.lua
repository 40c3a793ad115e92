-- Read jobs of one queue, each with the place where it is.
--
-- KEYS[1] jobs        hash: job id -> spec
-- KEYS[2] ready       sorted set: queued jobs by rank
-- KEYS[3] delayed     sorted set: delayed jobs by due time
-- KEYS[4] running     hash: job id -> token, rank, when it began (0: it waits in its node's buffer)
-- KEYS[5] ended       hash: job id -> ending
-- KEYS[6] marks       hash: job id -> mark
-- KEYS[7] cancelling  hash: running jobs that are to be cancelled
-- ARGV[1...] ids
-- Returns per id: spec or nothing, place ('ended', 'running', 'delayed', 'queued'), what is there (ending, hold, due time or
--   rank), mark or '', '1' if it is to be cancelled.
-- include: records
local jobs, ready, delayed, running = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local ended, marks, cancelling = KEYS[5], KEYS[6], KEYS[7]

local function place_of(id, mark)
  local ending = redis.call('HGET', ended, id)
  if ending then return 'ended', ending end
  local hold = redis.call('HGET', running, id)
  if hold then return 'running', hold end
  local due = redis.call('ZSCORE', delayed, id)
  if due then return 'delayed', due end
  local rank = redis.call('ZSCORE', ready, id)
  -- Held jobs are in no list by id; their mark knows the rank.
  return 'queued', rank or mark_of(mark).rank or '0'
end

local answer = {}
for _, id in ipairs(ARGV) do
  local spec = redis.call('HGET', jobs, id)
  local mark = redis.call('HGET', marks, id) or ''
  local place, there = '', ''
  if spec then place, there = place_of(id, mark) end
  answer[#answer + 1] = spec
  answer[#answer + 1] = place
  answer[#answer + 1] = there
  answer[#answer + 1] = mark
  answer[#answer + 1] = redis.call('HGET', cancelling, id) or ''
end
return answer
