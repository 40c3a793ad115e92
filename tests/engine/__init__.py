"""The engine on real stores, in this process. One file per noun; `working.py` makes the installation."""
