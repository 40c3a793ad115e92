"""Operations on schedules, their ticks and backfills."""
