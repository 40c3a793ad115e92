-- A floor is the serial up to which claims of a node come too late; behind it, if the node has left, is when.
local function floor_of(text)
  return tonumber(string.match(text or '', '^%d+')) or 0
end

local function left_at_of(text)
  return tonumber(string.match(text, ' (%d+)$'))
end
