-- A node leaves a queue. A claim that it has sent and that comes when it has gone takes nothing.
--
-- KEYS[1] pulses  hash: node -> its last sign of life
-- KEYS[2] floors  hash: node -> serial up to which its claims come too late, and when it left, if it has
-- KEYS[3] inbox   list: ids and tokens of jobs that the node is to cancel
-- ARGV[1] node
-- ARGV[2] serial    of its last claim
-- ARGV[3] keep_ms   how long the floors of nodes that have left are kept
-- Returns nothing.
-- include: although_full
-- include: floors
-- include: time
local pulses, floors, inbox = KEYS[1], KEYS[2], KEYS[3]
local node, serial, keep_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local now = server_time()
local floor = math.max(floor_of(redis.call('HGET', floors, node)), serial)
write_although_full(floors)
redis.call('HDEL', pulses, node)
redis.call('UNLINK', inbox)
redis.call('HSET', floors, node, string.format('%.0f', floor) .. ' ' .. now)
local known = redis.call('HGETALL', floors)
for n = 1, #known, 2 do
  local left_at = left_at_of(known[n + 1])
  if left_at and left_at < tonumber(now) - keep_ms then redis.call('HDEL', floors, known[n]) end
end
