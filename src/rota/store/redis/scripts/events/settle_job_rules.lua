-- Configurations that were announced are there, or will not come: they need not be reckoned with any more.
--
-- KEYS[1] rules_version  string: grows with every configuration that waits for the end of jobs
-- KEYS[2] pending        hash: configuration uuid -> instant, a space, configuration, of those that are being put
-- ARGV[1...] uuids
-- Returns nothing.
local rules_version, pending = KEYS[1], KEYS[2]

for _, uuid in ipairs(ARGV) do redis.call('HDEL', pending, uuid) end
redis.call('INCR', rules_version)
