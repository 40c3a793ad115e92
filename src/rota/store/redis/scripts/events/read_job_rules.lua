-- Read which configurations that wait for the end of jobs are being put, and which names are being given to job types. What
-- belongs to a process that died on the way is forgotten after a while.
--
-- KEYS[1] rules_version  string: grows with every configuration that waits for the end of jobs, and every job type
-- KEYS[2] pending        hash: configuration uuid -> instant, a space, configuration, of those that are being put
-- KEYS[3] names          hash: job type uuid, a space, name -> instant, of names that are being given
-- ARGV[1] patience  milliseconds
-- Returns the version, the configurations and the names.
local rules_version, pending, names = KEYS[1], KEYS[2], KEYS[3]
local oldest = redis.call('TIME')[1] * 1000 - ARGV[1]

local rules, found = {}, redis.call('HGETALL', pending)
for n = 1, #found, 2 do
  local since, rule = string.match(found[n + 1], '^(%d+) (.*)$')
  if tonumber(since) < oldest then
    redis.call('HDEL', pending, found[n])
  else
    rules[#rules + 1] = rule
  end
end
local given, announced = {}, redis.call('HGETALL', names)
for n = 1, #announced, 2 do
  if tonumber(announced[n + 1]) < oldest then
    redis.call('HDEL', names, announced[n])
  else
    given[#given + 1] = announced[n]
  end
end
return {redis.call('GET', rules_version) or '0', rules, given}
