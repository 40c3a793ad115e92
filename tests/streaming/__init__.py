"""The light scheduler on a real Kafka."""
