-- Reserve names for configurations, and remember where new ones live, all or none. Those that wait for the end of jobs are
-- announced, so that others who define some at the same time reckon with them, and whoever ends jobs tells them.
--
-- KEYS[1] queues         hash: configuration uuid -> its queue
-- KEYS[2] names          hash: configuration name -> uuid
-- KEYS[3] order          sorted set, by name: configuration names
-- KEYS[4] rules_version  string: grows with every configuration that waits for the end of jobs
-- KEYS[5] pending        hash: configuration uuid -> instant, a space, configuration, of those that are being put
-- KEYS[6] reservations   hash: configuration name -> token of whoever is about to write a configuration with it
-- ARGV[1] expected  version of the job rules, or ''
-- ARGV[2] token     of the reservations of new ones
-- ARGV[3...] entries  per configuration: uuid, queue of a new one or '', name, name it had or '', configuration if it
--   waits for jobs or ''
-- Returns the first name that belongs to another configuration; or 0, and nothing happened: the job rules are of another
--   version; or nothing. One that is gone is given no name.
-- include: owners
local queues, names, order, rules_version, pending, reservations =
  KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local expected, token, WIDTH = ARGV[1], ARGV[2], 5

if expected ~= '' and (redis.call('GET', rules_version) or '0') ~= expected then return 0 end
local claimed = {}
for i = 3, #ARGV, WIDTH do
  local uuid, name = ARGV[i], ARGV[i + 2]
  local owner = claimed[name] or owner_of(queues, names, name) or uuid
  if owner ~= uuid then return name end
  claimed[name] = uuid
end
local now = redis.call('TIME')[1] .. '000'
for i = 3, #ARGV, WIDTH do
  local uuid, queue, name, old, rule = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
  if queue ~= '' then
    redis.call('HSET', queues, uuid, queue)
    redis.call('HSET', reservations, name, token)
  end
  if redis.call('HEXISTS', queues, uuid) == 1 then
    if old ~= '' and old ~= name then
      redis.call('HDEL', names, old)
      redis.call('ZREM', order, old)
    end
    redis.call('HSET', names, name, uuid)
    redis.call('ZADD', order, 0, name)
  end
  if rule ~= '' then
    redis.call('HSET', pending, uuid, now .. ' ' .. rule)
    redis.call('INCR', rules_version)
  end
end
return false
