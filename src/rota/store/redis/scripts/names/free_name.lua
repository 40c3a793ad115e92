-- Free a name for which nothing came, if that is still so: nobody confirmed it, or reserved it anew.
--
-- KEYS[1] queues        hash: uuid -> its queue
-- KEYS[2] names         hash: name -> uuid
-- KEYS[3] order         sorted set, by name: names
-- KEYS[4] reservations  hash: name -> token of whoever is about to write something with it
-- ARGV[1] name
-- ARGV[2] uuid     whose name it is
-- ARGV[3] token    of its reservation
-- ARGV[4] is_gone  1 if nothing of that uuid is there, so that its place is forgotten too
-- Returns nothing.
local queues, names, order, reservations = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local name, uuid, token, is_gone = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == '1'

if redis.call('HGET', names, name) ~= uuid or redis.call('HGET', reservations, name) ~= token then return end
redis.call('HDEL', names, name)
redis.call('HDEL', reservations, name)
redis.call('ZREM', order, name)
if is_gone then redis.call('HDEL', queues, uuid) end
