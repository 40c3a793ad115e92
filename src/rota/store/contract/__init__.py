"""What a store promises, a file per noun, with the values that its methods take and give; `store.py` is their sum."""
