-- Announce which names job types are about to be given, so that others who define configurations or name job types at the same
-- time reckon with them.
--
-- KEYS[1] rules_version  string: grows with every configuration that waits for the end of jobs, and every job type
-- KEYS[2] pending        hash: job type uuid, a space, name -> instant, of names that are being given
-- ARGV[1] expected  version of the job rules
-- ARGV[2...] names  job type uuid, a space, name
-- Returns 1; or 0, and nothing happened: the job rules are of another version.
local rules_version, pending = KEYS[1], KEYS[2]
local expected = ARGV[1]

if (redis.call('GET', rules_version) or '0') ~= expected then return 0 end
local now = redis.call('TIME')[1] .. '000'
for n = 2, #ARGV do redis.call('HSET', pending, ARGV[n], now) end
redis.call('INCR', rules_version)
return 1
