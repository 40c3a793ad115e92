"""Tests of verbs that go to a server."""
