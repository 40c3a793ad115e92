"""Executor `bash`: a command or a script per job."""
