-- Create or replace definitions of one kind, all or none, if the records are still those that were read.
--
-- KEYS[1] bodies   hash: uuid -> definition
-- KEYS[2] names    hash: name -> uuid
-- KEYS[3] version  string: grows with every change
-- ARGV[1...] entries  per definition: uuid, name, body, the record that it replaces or ''
-- Returns nothing; or if it was refused, the first name that belongs to another uuid, or '' if a record was changed.
-- include: records
-- include: names
local bodies, names, version = KEYS[1], KEYS[2], KEYS[3]

local claimed = {}
for i = 1, #ARGV, 4 do
  local uuid, name, body, old = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local there = redis.call('HGET', bodies, uuid) or ''
  -- A call that is repeated because its answer was lost finds what it wrote itself.
  if there ~= old and there ~= body then return { '' } end
  local owner = claimed[name] or redis.call('HGET', names, name) or uuid
  if owner ~= uuid then return { name } end
  claimed[name] = uuid
end
for i = 1, #ARGV, 4 do
  local uuid, name, body = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local old = redis.call('HGET', bodies, uuid)
  if old then forget_name(names, uuid, old) end
  redis.call('HSET', bodies, uuid, body)
  redis.call('HSET', names, name, uuid)
end
redis.call('INCR', version)
return false
