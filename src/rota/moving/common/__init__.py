"""What the shims share: what is refused, and how stores, ids, functions and failures are carried."""
