"""Pure values and rules: no I/O, no clock. Values are frozen structs; a change makes a new value."""
