-- Small values of the installation.

-- name: get_setting
-- A small value of the installation.
SELECT value FROM settings WHERE name = :name;

-- name: put_setting
-- Keep a value, whatever was there.
INSERT INTO settings (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: put_setting_if_absent
-- Keep a value unless there is one.
INSERT INTO settings (name, value) VALUES (:name, :value) ON CONFLICT (name) DO NOTHING;

-- name: list_settings
-- Values whose name begins with a prefix.
SELECT name, value FROM settings WHERE substr(name, 1, length(:prefix)) = :prefix ORDER BY name;

-- name: delete_setting
-- Forget a value.
DELETE FROM settings WHERE name = :name;
