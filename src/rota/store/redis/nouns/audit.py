"""The audit log of the Redis store: a sorted set by name, so that ids give the order and a repeated entry is one."""

from collections.abc import Sequence

import msgspec

from rota.model.access.audit import AuditEntry
from rota.model.ids import ids_between
from rota.store.redis.keys import AUDIT
from rota.store.redis.link.commands import Value
from rota.store.redis.link.part import RedisPart

_decode = msgspec.json.Decoder(AuditEntry).decode
_encode = msgspec.json.Encoder().encode
_ID_LENGTH = 36


class RedisAudit(RedisPart):
    """See `rota.store.contract.audit.AuditStore` for what each method promises."""

    def append_audit(self, entries: Sequence[AuditEntry]) -> None:
        known = self._known([entry.id for entry in entries])
        members = {entry.id.encode() + b" " + _encode(entry): 0.0 for entry in entries if entry.id not in known}
        if members:
            self._redis.zadd(AUDIT, members)

    def settle_audit(self, done: Sequence[AuditEntry], dropped: Sequence[str] = ()) -> None:
        args: list[Value] = []
        for entry in done:
            args += [entry.id, _encode(entry)]
        for one in dropped:
            args += [one, ""]
        self._link.run("settle_audit", [AUDIT], args)

    def _known(self, ids: Sequence[str]) -> set[str]:
        """Ids that are there; whoever repeats an entry may spell it in another way."""
        return {one for one in ids if self._redis.zrangebylex(AUDIT, f"[{one} ", f"({one}!", start=0, num=1)}

    def list_audit(self, *, limit: int, before: str | None = None) -> list[AuditEntry]:
        found = self._redis.zrevrangebylex(AUDIT, "+" if before is None else f"({before}", "-", start=0, num=limit)
        return self._unreadable.read_all("audit entries of", AUDIT, _decode, [one[_ID_LENGTH + 1 :] for one in found])

    def trim_audit(self, *, older_than: int, keep: int, limit: int) -> int:
        bound, _ = ids_between(max(older_than, 0), max(older_than, 0))
        old = self._redis.zrangebylex(AUDIT, "-", f"({bound}", start=0, num=limit)
        surplus = min(self._redis.zcard(AUDIT) - keep, limit)
        if len(old) < surplus:
            oldest = self._redis.zrange(AUDIT, 0, surplus - 1)
            # Counted again: if another node forgot some before these were read, so many fewer of them are too many.
            beyond = oldest[: max(self._redis.zcard(AUDIT) - keep, 0)]
            old = max(old, beyond, key=len)
        return self._redis.zrem(AUDIT, *old) if old else 0
