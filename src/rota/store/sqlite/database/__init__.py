"""The file itself: connections, transactions, migrations, checkpoints, a clock, and what all nouns of the store share.
What is kept in it is in the rooms of the nouns.
"""
