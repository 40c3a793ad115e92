"""What is defined, as one process sees it, who may change it, and what a file says. How it fires is not here."""
