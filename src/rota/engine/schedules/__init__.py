"""What schedules do: changing them, deciding and firing their ticks, backfills, what comes next."""
