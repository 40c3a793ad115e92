"""Tests of the native JSON."""
