"""The testing tools that users get."""
