"""Jobs as they are handed in, looked for and changed."""
