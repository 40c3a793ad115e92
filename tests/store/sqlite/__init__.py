"""What holds for the SQLite store only: its file, and the clock of the machine that all its processes share."""
