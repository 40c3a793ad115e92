"""Who may do what, by which key, and the log of who changed what."""
