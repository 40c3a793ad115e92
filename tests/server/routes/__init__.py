"""The operations of the API, by noun, and what holds for all of them: bounds, single fields, unreadable records."""
