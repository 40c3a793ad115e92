"""The engine: everything that changes the store. It is asyncio; stores are synchronous and reached by a store
thread."""
