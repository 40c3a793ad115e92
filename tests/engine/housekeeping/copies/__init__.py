"""Tests of copies of an installation."""
