"""What events do: taking them, judging them, the configurations that wait for them, and where they come from."""
