"""Rota: one scheduler for everything that has to run: at a time, on a rhythm, when data arrives, or now."""

__version__ = "0.1.0"
