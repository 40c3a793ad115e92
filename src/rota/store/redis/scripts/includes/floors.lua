-- A floor is the serial up to which claims of a node come too late; behind it, if the node has left, is when.
local function floor_of(text)
  return tonumber(string.match(text or '', '^%d+')) or 0
end

local function left_at_of(text)
  return tonumber(string.match(text, ' (%d+)$'))
end

-- Keep the floor of a node that leaves now, and forget those of nodes that left more than `keep_ms` ago.
local function keep_floor(floors, node, floor, now, keep_ms)
  redis.call('HSET', floors, node, string.format('%.0f', floor) .. ' ' .. now)
  local known = redis.call('HGETALL', floors)
  for n = 1, #known, 2 do
    local left_at = left_at_of(known[n + 1])
    if left_at and left_at < tonumber(now) - keep_ms then redis.call('HDEL', floors, known[n]) end
  end
end
