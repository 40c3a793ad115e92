-- Configurations, or names of job types, that were announced are there, or will not come: they need not be reckoned with any
-- more.
--
-- KEYS[1] rules_version  string: grows with every configuration that waits for the end of jobs, and every job type
-- KEYS[2] pending        hash: configuration uuid -> instant, a space, configuration; or job type uuid, a space, name ->
--   instant; of those that are being put
-- ARGV[1...] announced   uuids, or uuids and names
-- Returns nothing.
local rules_version, pending = KEYS[1], KEYS[2]

for _, one in ipairs(ARGV) do redis.call('HDEL', pending, one) end
redis.call('INCR', rules_version)
