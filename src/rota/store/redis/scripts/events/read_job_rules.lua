-- Read which configurations that wait for the end of jobs are being put. One whose process died on the way is forgotten
-- after a while.
--
-- KEYS[1] rules_version  string: grows with every configuration that waits for the end of jobs
-- KEYS[2] pending        hash: configuration uuid -> instant, a space, configuration, of those that are being put
-- ARGV[1] patience  milliseconds
-- Returns the version, then the configurations.
local rules_version, pending = KEYS[1], KEYS[2]
local oldest = redis.call('TIME')[1] * 1000 - ARGV[1]

local answer, found = {redis.call('GET', rules_version) or '0'}, redis.call('HGETALL', pending)
for n = 1, #found, 2 do
  local since, rule = string.match(found[n + 1], '^(%d+) (.*)$')
  if tonumber(since) < oldest then
    redis.call('HDEL', pending, found[n])
  else
    answer[#answer + 1] = rule
  end
end
return answer
