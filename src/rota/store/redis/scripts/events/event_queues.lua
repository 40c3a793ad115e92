-- Tell which queues have configurations, and how often any moved. A script, so that it can go along with others in one
-- round trip.
--
-- KEYS[1] event_queues  set: every queue that ever had configurations
-- KEYS[2] moves         string: grows with every move
-- ARGV none
-- Returns the queues, then the number of moves.
local event_queues, moves = KEYS[1], KEYS[2]

local answer = redis.call('SMEMBERS', event_queues)
answer[#answer + 1] = redis.call('GET', moves) or '0'
return answer
