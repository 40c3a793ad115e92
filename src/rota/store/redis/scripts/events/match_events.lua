-- Find the configurations of one queue that may have a dependency on some events.
--
-- KEYS[1] index  sorted set, by name: where dependencies are found
-- ARGV[1...] events  per event: type, resource
-- Returns per event a list of uuids.
local index = KEYS[1]

-- A member of the index is type, '=' and a resource, or '^' and a literal beginning, and a uuid, with zero bytes between.
local function add_uuids(index, uuids, place)
  for _, member in ipairs(redis.call('ZRANGEBYLEX', index, '[' .. place .. '\0', '(' .. place .. '\1')) do
    uuids[#uuids + 1] = string.sub(member, #place + 2)
  end
end

local function common_length(one, other)
  local most = math.min(#one, #other)
  for n = 1, most do
    if string.byte(one, n) ~= string.byte(other, n) then return n - 1 end
  end
  return most
end

-- The greatest beginning up to a resource either is one of it, or shares some bytes with it, and no longer one is there:
-- so each look shortens what is left, and few are needed.
local function add_beginnings(index, uuids, base, resource)
  local bound = resource
  while bound do
    local last = redis.call('ZREVRANGEBYLEX', index, '[' .. base .. bound .. '\0\255', '[' .. base, 'LIMIT', 0, 1)[1]
    if not last then return end
    local start = string.match(string.sub(last, #base + 1), '^([^%z]*)%z')
    local shared = common_length(start, bound)
    if shared == #start then
      add_uuids(index, uuids, base .. start)
      bound = #start > 0 and string.sub(start, 1, -2) or nil
    else
      bound = string.sub(bound, 1, shared)
    end
  end
end

local answer = {}
for i = 1, #ARGV, 2 do
  local kind, resource = ARGV[i], ARGV[i + 1]
  local uuids = {}
  add_uuids(index, uuids, kind .. '\0=\0' .. resource)
  add_beginnings(index, uuids, kind .. '\0^\0', resource)
  answer[#answer + 1] = uuids
end
return answer
