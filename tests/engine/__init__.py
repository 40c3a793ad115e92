"""The engine on real stores, in this process: a folder per noun. `working.py` runs nodes and makes stores fail."""
