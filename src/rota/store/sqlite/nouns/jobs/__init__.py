"""Jobs as they are handed in, looked for and changed. How nodes get them is in `claims`, how they are forgotten in
`history.py`.
"""
