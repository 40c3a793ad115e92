-- Give a node a new pulse and tell it which of its claims are lost or to be cancelled.
--
-- KEYS[1] running     hash: job id -> token, rank, when it began (0: it waits in its node's buffer)
-- KEYS[2] cancelling  hash: running jobs that are to be cancelled
-- KEYS[3] pulses      hash: node -> its last sign of life
-- ARGV[1] node
-- ARGV[2] pulse
-- ARGV[3...] held     per job: id, token
-- Returns two lists of ids: to be cancelled, lost.
-- include: although_full
local running, cancelling, pulses = KEYS[1], KEYS[2], KEYS[3]
local node, pulse = ARGV[1], ARGV[2]

write_although_full(pulses)
redis.call('HSET', pulses, node, pulse)
local to_cancel, lost = {}, {}
for i = 3, #ARGV, 2 do
  local id, token = ARGV[i], ARGV[i + 1]
  local hold = redis.call('HGET', running, id)
  if not hold or string.sub(hold, 1, #token + 1) ~= token .. ' ' then
    lost[#lost + 1] = id
  elseif redis.call('HEXISTS', cancelling, id) == 1 then
    to_cancel[#to_cancel + 1] = id
  end
end
return {to_cancel, lost}
