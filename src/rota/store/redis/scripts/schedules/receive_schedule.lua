-- Make the copy of a schedule that is to arrive from another queue, with its ticks. It is due only for those who look
-- whether its move was cut short.
--
-- KEYS[1] schedules  hash: schedule uuid -> schedule
-- KEYS[2] states     hash: schedule uuid -> version, a space, state
-- KEYS[3] due        sorted set: schedule uuid by the time at which it is to be decided
-- KEYS[4] ticks      sorted set: rows by nominal instant
-- ARGV[1] uuid
-- ARGV[2] body     the schedule
-- ARGV[3] arriving  its state while it waits to arrive
-- ARGV[4] look_at  when somebody is to look whether it arrived
-- ARGV[5...] rows  per row: nominal instant, row
-- Returns nothing; or, and nothing happened, the state of another one that is there.
-- include: chunks
local schedules, states, due, ticks = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local uuid, body, arriving, look_at = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local there = redis.call('HGET', states, uuid)
if there == arriving then return false end
if there then return there end
local rows = {}
for n = 5, #ARGV do rows[n - 4] = ARGV[n] end
redis.call('HSET', schedules, uuid, body)
redis.call('HSET', states, uuid, arriving)
redis.call('ZADD', due, look_at, uuid)
add_all(ticks, rows)
return false
