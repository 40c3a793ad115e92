-- Reading records. One that is broken must not stop a script halfway, so it reads as one that says nothing.

local function fields_of(text)
  local is_read, fields = pcall(cjson.decode, text)
  return is_read and type(fields) == 'table' and fields or {}
end

-- A job's mark: rank, lock, unique key and rate key are text or absent, when it expires is a number or absent.
local function mark_of(text)
  local mark = fields_of(text)
  if type(mark.rank) ~= 'string' or not tonumber(mark.rank) then mark.rank = nil end
  if type(mark.lock) ~= 'string' then mark.lock = nil end
  if type(mark.unique) ~= 'string' then mark.unique = nil end
  if type(mark.rate) ~= 'string' then mark.rate = nil end
  if type(mark.expires) ~= 'number' then mark.expires = nil end
  return mark
end
