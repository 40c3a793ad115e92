"""The programs in examples/ that use frameworks, with the real ones."""
