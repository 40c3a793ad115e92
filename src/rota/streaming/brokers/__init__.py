"""Talking to the brokers: topics that must be there, records that are sent one by one or in transactions, questions."""
