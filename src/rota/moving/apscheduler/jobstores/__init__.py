"""Where jobs are kept: names of stores."""
