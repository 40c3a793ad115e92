-- Records of a topic from an offset on.
--
-- KEYS[1] ends       hash: `first` and `end`, the offsets of the oldest and of the next record
-- KEYS[2] records    hash: offset -> when it was published, a space, id, a line feed, record (JSON)
-- ARGV[1] offset
-- ARGV[2] how many at most
-- ARGV[3] how many bytes; the last record may go beyond
-- Returns the first and the next offset, where reading began, and the records from there, or nothing if there is no such
-- topic. A record that is gone is an empty text.
local ends, records = KEYS[1], KEYS[2]
local offset, limit, most_bytes = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

local stop = tonumber(redis.call('HGET', ends, 'end'))
if not stop then return {} end
local first = tonumber(redis.call('HGET', ends, 'first') or '0')
local from = math.min(math.max(offset, first), stop)
local found, size = {first, stop, from}, 0
for n = from, math.min(from + limit, stop) - 1 do
  local record = redis.call('HGET', records, string.format('%d', n))
  found[#found + 1] = record and string.sub(record, string.find(record, '\n', 1, true) + 1) or ''
  size = size + #found[#found]
  if size >= most_bytes then break end
end
return found
