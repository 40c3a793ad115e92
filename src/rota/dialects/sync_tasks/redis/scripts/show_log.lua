-- Add lines to the log of a task that history has not forgotten.
--
-- KEYS[1] logs  sorted set: what the task wrote, by second
-- KEYS[2] jobs  hash: job id -> spec
-- ARGV[1] job_id
-- ARGV[2...] lines  per second: the second, and its log entries, each in a line
-- Returns 1, or 0 and changes nothing if the job is not there.
local logs, jobs = KEYS[1], KEYS[2]
local job_id = ARGV[1]
local most = 2000 -- values of one command; Lua's stack takes a few thousand

if redis.call('HEXISTS', jobs, job_id) == 0 then return 0 end
for i = 2, #ARGV, 2 do
  local second, values = ARGV[i], {}
  for line in string.gmatch(ARGV[i + 1], '[^\n]+') do
    values[#values + 1] = second
    values[#values + 1] = line
    if #values == most then
      redis.call('ZADD', logs, unpack(values))
      values = {}
    end
  end
  if #values > 0 then redis.call('ZADD', logs, unpack(values)) end
end
return 1
