-- Write fields of a foreign hash and remember what was agreed, each only if the field is still as it was read.
--
-- KEYS[1] foreign  hash: field -> text
-- KEYS[2] memory   hash: field -> what was agreed
-- ARGV[1...] entries  per field: field, text that was read or '', text that is to stand there or '', what was agreed or ''
-- Returns how many were written or remembered.
local foreign, memory = KEYS[1], KEYS[2]

local done = 0
for i = 1, #ARGV, 4 do
  local field, expected, text, agreed = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  if (redis.call('HGET', foreign, field) or '') == expected then
    if text == '' then
      redis.call('HDEL', foreign, field)
    elseif text ~= expected then
      redis.call('HSET', foreign, field, text)
    end
    if agreed == '' then redis.call('HDEL', memory, field) else redis.call('HSET', memory, field, agreed) end
    done = done + 1
  end
end
return done
