"""The light scheduler's task definitions: what they say, when they fire, and their Avro schemas (`avro/`)."""
