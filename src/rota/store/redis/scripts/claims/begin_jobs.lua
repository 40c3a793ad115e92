-- Jobs that waited in their node's buffer have begun, each if its token holds it.
--
-- KEYS[1] running  hash: job id -> token, rank, when it began (0: it waits in its node's buffer)
-- ARGV[1] now         epoch milliseconds
-- ARGV[2...] claims   per claim: id, token
-- Returns nothing.
-- include: although_full
local running, now = KEYS[1], ARGV[1]

write_although_full(running)
for i = 2, #ARGV, 2 do
  local id, token = ARGV[i], ARGV[i + 1]
  local holder, rank = string.match(redis.call('HGET', running, id) or '', '^(.*) (%S+) %S+$')
  if holder == token then redis.call('HSET', running, id, token .. ' ' .. rank .. ' ' .. now) end
end
