-- Forget the oldest records of a topic: those that are too old, and those that are too many.
--
-- KEYS[1] ends       hash: `first` and `end`, the offsets of the oldest and of the next record
-- KEYS[2] ids        hash: id -> offset, of every record
-- KEYS[3] records    hash: offset -> when it was published, a space, id, a line feed, record (JSON)
-- ARGV[1] the instant before which they are too old
-- ARGV[2] how many to keep
-- ARGV[3] how many to forget at most
-- Returns how many were forgotten.
local ends, ids, records = KEYS[1], KEYS[2], KEYS[3]
local older_than, keep, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

local stop = tonumber(redis.call('HGET', ends, 'end') or '0')
local first = tonumber(redis.call('HGET', ends, 'first') or '0')
local forgotten = 0
while first < stop and forgotten < limit do
  local place = string.format('%d', first)
  local record = redis.call('HGET', records, place)
  if record then
    local published, id = string.match(record, '^(%d+) ([^\n]*)\n')
    if tonumber(published) >= older_than and first >= stop - keep then break end
    redis.call('HDEL', ids, id)
    redis.call('HDEL', records, place)
  end
  first, forgotten = first + 1, forgotten + 1
end
redis.call('HSET', ends, 'first', string.format('%d', first))
return forgotten
