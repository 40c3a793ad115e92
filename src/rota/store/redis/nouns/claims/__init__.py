"""Claims in Redis: jobs that nodes hold, how they are settled, and the signs of life of those nodes."""
