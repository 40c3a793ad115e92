-- Commands with many values, in pieces: Lua hands over about 8,000 at a time. The size is even, so that pairs stay together.
local CHUNK = 4000

local function call_with(command, key, values)
  for first = 1, #values, CHUNK do
    redis.call(command, key, unpack(values, first, math.min(first + CHUNK - 1, #values)))
  end
end

local function get_all(hash, fields)
  if #fields <= CHUNK then return redis.call('HMGET', hash, unpack(fields)) end
  local found = {}
  for first = 1, #fields, CHUNK do
    local last = math.min(first + CHUNK - 1, #fields)
    local some = redis.call('HMGET', hash, unpack(fields, first, last))
    for n = first, last do found[n] = some[n - first + 1] end
  end
  return found
end
