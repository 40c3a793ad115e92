"""The soak: mixed load and a random fault every few seconds for minutes, judged from outside. `make soak` runs it.

It is no part of `make test`, which only tests its judge (`test_judge.py`). Nodes are `rota` processes, stores are real
ones, and the verdict rests on a ledger that the job bodies write. Linux only, because it looks into /proc.
"""
