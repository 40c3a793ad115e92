"""Executor `python`: calls a function, in this process or in one of its own."""
