"""Whole processes under faults: killed, stopped, starved, cut off. What must hold is counted in a ledger outside Rota.

Each test starts its own servers and workers, on 127.0.0.1, and ends them. Waiting is always for something, with a
deadline that is only a guard.
"""
