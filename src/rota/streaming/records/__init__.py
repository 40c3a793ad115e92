"""What is in the records of topics: Avro, what an instance keeps of a definition, and which partition a key has."""
