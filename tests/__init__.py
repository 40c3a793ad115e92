"""All tests. `servers.py` starts the real servers they need; nothing here is mocked."""
