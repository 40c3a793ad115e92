"""Executor `sidekiq`: hands a job to Ruby's Sidekiq and waits for its end."""
