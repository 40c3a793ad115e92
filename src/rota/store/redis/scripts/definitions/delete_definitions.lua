-- Remove definitions of one kind.
--
-- KEYS[1] bodies   hash: uuid -> definition
-- KEYS[2] names    hash: name -> uuid
-- KEYS[3] version  string: grows with every change
-- ARGV[1...] uuids
-- Returns how many there were.
-- include: records
-- include: names
local bodies, names, version = KEYS[1], KEYS[2], KEYS[3]

local deleted = 0
for _, uuid in ipairs(ARGV) do
  local old = redis.call('HGET', bodies, uuid)
  if old then
    forget_name(names, uuid, old)
    redis.call('HDEL', bodies, uuid)
    deleted = deleted + 1
  end
end
redis.call('INCR', version)
return deleted
