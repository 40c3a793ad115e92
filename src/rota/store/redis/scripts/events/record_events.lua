-- Remember events that were taken, and forget all but the latest.
--
-- KEYS[1] records  sorted set, by name: id, a space, event that was taken (JSON)
-- ARGV[1]          how many are kept
-- ARGV[2...]       per event: id, a space, the event (JSON)
-- Returns nothing.
local records = KEYS[1]
local keep = tonumber(ARGV[1])

for n = 2, #ARGV do
  local id = string.match(ARGV[n], '^%S+')
  if #redis.call('ZRANGEBYLEX', records, '[' .. id .. ' ', '(' .. id .. '!', 'LIMIT', 0, 1) == 0 then
    redis.call('ZADD', records, 0, ARGV[n])
  end
end
redis.call('ZREMRANGEBYRANK', records, 0, -keep - 1)
