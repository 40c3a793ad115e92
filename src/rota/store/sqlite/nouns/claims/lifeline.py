"""A node's own line to a SQLite file."""

from rota.model.ids import new_pulse
from rota.model.node import Node
from rota.store.contract.claims import Renewal
from rota.store.sqlite.database.database import PrivateWriter
from rota.store.sqlite.database.machine_clock import MachineClock
from rota.store.sqlite.nouns.claims import pulses
from rota.store.sqlite.nouns.claims.lookup import held_claims
from rota.store.sqlite.nouns.nodes import write_node


class SqliteLifeline:
    """See `rota.store.contract.claims.Lifeline`. A connection of its own does not wait behind this process's other
    writes, and a foreign lock on the file is noticed after its own patience."""

    def __init__(self, writer: PrivateWriter, clock: MachineClock) -> None:
        self._writer = writer
        self._clock = clock

    def renew_claims(self, queue: str, node: str, held: dict[str, str]) -> Renewal:
        with self._writer.write() as db:
            pulses.set_pulse(db, queue, node, new_pulse())
            rows = held_claims(db, list(held))
        ours = [row for row in rows if (row["queue"], row["token"]) == (queue, held[row["id"]])]
        mine = {row["id"]: row["cancel_requested"] for row in ours}
        return Renewal([id for id, is_cancelled in mine.items() if is_cancelled], [id for id in held if id not in mine])

    def beat(self, node: Node) -> None:
        with self._writer.write() as db:
            write_node(db, node)
            self._clock.leave_reading(db)

    def close(self) -> None:
        self._writer.close()
