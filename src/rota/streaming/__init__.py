"""The light scheduler on Kafka: definitions kept in changelogs, commands and due tasks in topics, and no database."""
