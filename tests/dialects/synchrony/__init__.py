"""Tests of Synchrony's Redis keys, without processes."""
