"""What a run says and comes to: its log and progress, its outcome, and what becomes of the job after it."""
