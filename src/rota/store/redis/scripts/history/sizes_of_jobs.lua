-- Tell how many bytes ended jobs take, without what their places in lists cost.
--
-- KEYS[1] jobs     hash: job id -> spec
-- KEYS[2] ended    hash: job id -> ending
-- KEYS[3...] logs  one list per id
-- ARGV[1...] ids
-- Returns a number per id. That of the log is an estimate.
local jobs, ended = KEYS[1], KEYS[2]

local sizes = {}
for n, id in ipairs(ARGV) do
  local log = KEYS[n + 2]
  local size = redis.call('HSTRLEN', jobs, id) + redis.call('HSTRLEN', ended, id)
  sizes[n] = size + (redis.call('MEMORY', 'USAGE', log) or 0)
end
return sizes
