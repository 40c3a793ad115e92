"""What every store does with its records alike: encode, decode, stand in for unreadable ones, page through jobs.
No reading or writing: that is each store's own.
"""
