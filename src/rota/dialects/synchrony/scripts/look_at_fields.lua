-- Read a foreign hash, and what was agreed about it, as they are at one moment.
--
-- KEYS[1] foreign  hash: field -> text
-- KEYS[2] memory   hash: field -> what was agreed
-- ARGV none
-- Returns both, each as a list of fields and values.
local foreign, memory = KEYS[1], KEYS[2]

return {redis.call('HGETALL', foreign), redis.call('HGETALL', memory)}
