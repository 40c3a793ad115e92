-- Take an id that is no task out of the queue and keep it among the dead letters.
--
-- KEYS[1] queue  list: ids of tasks that wait for a worker
-- KEYS[2] dead   list: dead letters
-- ARGV[1] id
-- ARGV[2] letter  what is kept of it
-- ARGV[3] most    letters that are kept
-- Returns 1, or 0 if it was not there.
local queue, dead = KEYS[1], KEYS[2]
local id, letter, most = ARGV[1], ARGV[2], ARGV[3]

if redis.call('LREM', queue, 0, id) == 0 then return 0 end
redis.call('RPUSH', dead, letter)
redis.call('LTRIM', dead, -most, -1)
return 1
