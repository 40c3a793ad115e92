"""From asyncio to the stores, which are synchronous: a thread for calls, and batches that share one."""
