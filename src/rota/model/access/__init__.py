"""What callers may give, see and change: openings of job types, masks over secrets, entries of the audit log."""
