"""Jobs in Redis, from enqueue to delete, and how they are found and listed. Giving them to nodes is in `claims`."""
