"""Synchrony's own Redis keys, beside Rota's.

keys.py        every foreign key, spelled once
shapes.py      Synchrony's JSON, to and from the model
exchange.py    the duty that keeps definitions there and here the same   (agreement.py, sides.py: its parts)
inlet.py       the duty that adopts jobs which others push   (adoption.py: its part)
job_keys.py    the duty that shows running and finished jobs, when a setting asks for it
opening.py     where it is spoken
"""

from rota.dialects.manifest import Manifest

MANIFEST = Manifest("synchrony", "rota.dialects.synchrony.opening:open_dialect")
