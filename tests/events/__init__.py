"""Tests of events and configurations that go through the engine, on every store."""
