-- Records that others read, by topic and offset.

-- name: find_topic
-- A topic, and from where to where it has records.
SELECT number, name, next_offset,
  coalesce((SELECT min(place) FROM topic_records WHERE topic = number), next_offset) AS first
FROM topics WHERE name = :name;

-- name: make_topic
-- Make a topic, unless there are too many.
INSERT INTO topics (name) SELECT :name WHERE (SELECT count(*) FROM topics) < :most;

-- name: place_of_topic_record
-- Where a record is, by its id.
SELECT place FROM topic_records WHERE topic = :topic AND id = :id;

-- name: append_topic
-- Add a record.
INSERT INTO topic_records (topic, place, id, published, record) VALUES (:topic, :place, :id, :published, :record);

-- name: end_topic_at
-- The next record goes here.
UPDATE topics SET next_offset = :place WHERE number = :topic;

-- name: read_topic
-- Records from a place on.
SELECT place, record FROM topic_records WHERE topic = :topic AND place >= :offset ORDER BY place LIMIT :limit;

-- name: list_topics
-- Topics by name, from behind a name.
SELECT name, next_offset,
  coalesce((SELECT min(place) FROM topic_records WHERE topic = number), next_offset) AS first
FROM topics WHERE name > :after ORDER BY name LIMIT :limit;

-- name: trim_topics
-- Forget the oldest records of a topic: those that are too old, and those before a place. None behind one that stays, so
-- that there is no gap where the clock of a publisher was behind.
DELETE FROM topic_records WHERE topic = :topic AND place IN (
  WITH
    oldest AS (SELECT place, published FROM topic_records WHERE topic = :topic ORDER BY place LIMIT :limit),
    staying AS (SELECT min(place) AS place FROM oldest WHERE published >= :older_than AND place >= :kept_from)
  SELECT place FROM oldest WHERE place < coalesce((SELECT place FROM staying), place + 1));
