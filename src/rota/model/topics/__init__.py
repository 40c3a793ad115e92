"""Topics and their records, and the task definitions of the light scheduler that put records onto them."""
