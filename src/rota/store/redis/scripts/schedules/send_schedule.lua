-- Have a schedule leave for another queue, if nobody changed it meanwhile. What is left tells only where it is, and is due
-- only for those who look whether its move was cut short.
--
-- KEYS[1] states  hash: schedule uuid -> version, a space, state
-- KEYS[2] due     sorted set: schedule uuid by the time at which it is to be decided
-- ARGV[1] uuid
-- ARGV[2] expected  version, a space, state
-- ARGV[3] leaving   its state from now on
-- ARGV[4] look_at   when somebody is to look whether it arrived
-- Returns 1, also if it has left already by the same move; or 0, and nothing happened.
local states, due = KEYS[1], KEYS[2]
local uuid, expected, leaving, look_at = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local there = redis.call('HGET', states, uuid)
if there == leaving then return 1 end
if there ~= expected then return 0 end
redis.call('HSET', states, uuid, leaving)
redis.call('ZADD', due, look_at, uuid)
return 1
