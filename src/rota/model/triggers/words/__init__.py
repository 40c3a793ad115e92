"""Triggers in English sentences, for people who look at a schedule."""
