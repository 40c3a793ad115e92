-- Put a schedule that waits to arrive in a queue in force, unless somebody else did.
--
-- KEYS[1] states  hash: schedule uuid -> version, a space, state
-- KEYS[2] due     sorted set: schedule uuid by the time at which it is to be decided
-- ARGV[1] uuid
-- ARGV[2] arriving  its state while it waits
-- ARGV[3] state     version, a space, its state from now on
-- ARGV[4] at        due time or ''
-- Returns nothing.
local states, due = KEYS[1], KEYS[2]
local uuid, arriving, state, at = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

if redis.call('HGET', states, uuid) == arriving then
  redis.call('HSET', states, uuid, state)
  if at == '' then redis.call('ZREM', due, uuid) else redis.call('ZADD', due, at, uuid) end
end
