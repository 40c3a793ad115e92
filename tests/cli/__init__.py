"""The command line: verbs in this process where only the answer matters, real processes where the process does."""
