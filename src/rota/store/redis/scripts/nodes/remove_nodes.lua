-- Forget one node, or all that fell silent.
--
-- KEYS[1] nodes  hash: node uuid -> node
-- KEYS[2] pings  sorted set: node uuid by last beat
-- ARGV[1] uuid          or ''
-- ARGV[2] silent_since  epoch milliseconds, or ''
-- Returns how many.
local nodes, pings = KEYS[1], KEYS[2]
local uuid, silent_since = ARGV[1], ARGV[2]

local gone = uuid ~= '' and {uuid} or redis.call('ZRANGEBYSCORE', pings, '-inf', '(' .. silent_since)
local removed = 0
for _, one in ipairs(gone) do
  removed = removed + redis.call('HDEL', nodes, one)
  redis.call('ZREM', pings, one)
end
return removed
