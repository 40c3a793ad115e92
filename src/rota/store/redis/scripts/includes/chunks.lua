-- Commands with many values, in pieces: Lua hands over about 8,000 at a time. The size is even, so that pairs stay together.
local CHUNK = 4000

local function last_of(first, values)
  return math.min(first + CHUNK - 1, #values)
end

local function set_all(hash, pairs)
  for first = 1, #pairs, CHUNK do redis.call('HSET', hash, unpack(pairs, first, last_of(first, pairs))) end
end

local function add_all(sorted_set, pairs)
  for first = 1, #pairs, CHUNK do redis.call('ZADD', sorted_set, unpack(pairs, first, last_of(first, pairs))) end
end

local function get_all(hash, fields)
  if #fields <= CHUNK then return redis.call('HMGET', hash, unpack(fields)) end
  local found = {}
  for first = 1, #fields, CHUNK do
    local last = last_of(first, fields)
    local some = redis.call('HMGET', hash, unpack(fields, first, last))
    for n = first, last do found[n] = some[n - first + 1] end
  end
  return found
end
