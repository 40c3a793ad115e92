-- Tell which queues have configurations. A script, so that it can go along with others in one round trip.
--
-- KEYS[1] event_queues  set: every queue that ever had configurations
-- ARGV none
-- Returns the queues.
local event_queues = KEYS[1]

return redis.call('SMEMBERS', event_queues)
