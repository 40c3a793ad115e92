"""The real engine on a virtual clock, or real processes that die at chosen points."""
