"""Connections: how much, how fast and how many requests one may send, and how many connections there may be."""
