"""A node's own line to a SQLite file."""

import os
from collections.abc import Callable

from rota.clock import uptime_ms
from rota.model.ids import new_pulse
from rota.model.node import Node
from rota.store.claims import Renewal
from rota.store.records.codec import encode
from rota.store.sqlite import pulses
from rota.store.sqlite.database import PrivateWriter
from rota.store.sqlite.queries import SQL
from rota.store.sqlite.rows import json_array


class SqliteLifeline:
    """See `rota.store.claims.Lifeline`. A connection of its own does not wait behind this process's other writes, and a
    foreign lock on the file is noticed after its own patience."""

    def __init__(self, writer: PrivateWriter, reading: Callable[[], int]) -> None:
        self._writer = writer
        self._reading = reading

    def renew_claims(self, queue: str, node: str, held: dict[str, str]) -> Renewal:
        with self._writer.write() as db:
            pulses.set_pulse(db, queue, node, new_pulse())
            rows = db.execute(SQL["held_claims"], {"ids": json_array(list(held))}).fetchall()
        ours = [row for row in rows if (row["queue"], row["token"]) == (queue, held[row["id"]])]
        mine = {row["id"]: row["cancel_requested"] for row in ours}
        return Renewal([id for id, asked in mine.items() if asked], [id for id in held if id not in mine])

    def beat(self, node: Node) -> None:
        with self._writer.write() as db:
            db.execute(SQL["beat"], {"uuid": node.uuid, "last_ping": node.last_ping, "body": encode(node)})
            uptime = uptime_ms()
            db.execute(SQL["put_clock"], {"process": os.getpid(), "uptime": uptime, "reading": self._reading()})
            db.execute(SQL["trim_clocks"], {"uptime": uptime})

    def close(self) -> None:
        self._writer.close()
