"""Figures that the server draws: places and sizes, which the templates make into SVG."""
