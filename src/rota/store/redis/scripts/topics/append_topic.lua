-- Add records to a topic; one whose id is there already stays as it is.
--
-- KEYS[1] ends       hash: `first` and `end`, the offsets of the oldest and of the next record
-- KEYS[2] ids        hash: id -> offset, of every record
-- KEYS[3] records    hash: offset -> when it was published, a space, id, a line feed, record (JSON)
-- ARGV[1...] records  per record: id, when it was published, record
-- Returns the offset of each.
local ends, ids, records = KEYS[1], KEYS[2], KEYS[3]

local stop = tonumber(redis.call('HGET', ends, 'end') or '0')
local offsets = {}
for n = 1, #ARGV, 3 do
  local id, published, record = ARGV[n], ARGV[n + 1], ARGV[n + 2]
  local offset = tonumber(redis.call('HGET', ids, id) or stop)
  if offset == stop then
    redis.call('HSET', ids, id, string.format('%d', offset))
    redis.call('HSET', records, string.format('%d', offset), published .. ' ' .. id .. '\n' .. record)
    stop = stop + 1
  end
  offsets[#offsets + 1] = offset
end
redis.call('HSET', ends, 'end', string.format('%d', stop))
return offsets
