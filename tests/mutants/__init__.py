"""Dangerous changes, one table per area, made one at a time to see whether tests notice. `make mutants` runs them.

It is no part of `make test`, which only looks whether the tables fit the code and whether the program works.
"""
