"""Looks for problems of a machine, a store and what is in it: one file per kind of thing."""
