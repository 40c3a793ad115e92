"""Executor `http`: a request per job."""
