-- The members that a job has in the sorted set of all series: series, time of making and id, with tabs between them. Nearly
-- all jobs are in none, and their specs are not decoded.
local function series_members(spec, id)
  if not spec or not string.find(spec, '"series":[', 1, true) then return {} end
  local is_read, fields = pcall(cjson.decode, spec)
  if not is_read or type(fields.series) ~= 'table' then return {} end
  local members = {}
  for n, name in ipairs(fields.series) do
    members[n] = string.format('%s\t%015.0f\t%s', name, fields.enqueued_at, id)
  end
  return members
end
