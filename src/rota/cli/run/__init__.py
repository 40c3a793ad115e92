"""Section Run of `rota --help`: what is said when a node starts, and the demo."""
