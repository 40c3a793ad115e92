"""The version of a job type, which its record holds: it grows by one with every change."""

import msgspec
from msgspec import Struct, structs

from rota.errors import Conflict
from rota.model.job_type import JobType
from rota.store.records.codec import encode, encode_over


class _Versioned(Struct, frozen=True):
    version: int = 1


_decode = msgspec.json.Decoder(_Versioned).decode


def encode_next_version(new: JobType, old: bytes | None) -> bytes:
    """A job type that takes the place of a stored one. If it is as it was, so is its version."""
    if old is None:
        return encode(new)
    version = _version_in(old)
    same = encode_over(structs.replace(new, version=version), old)
    return same if same == old else encode_over(structs.replace(new, version=version + 1), old)


def refuse_other_version(new: JobType, old: bytes | None) -> None:
    """Refuse to replace a version that is not the one that `new` was made from."""
    if old is None:
        raise Conflict(f"job type {new.name!r} was deleted meanwhile; define it anew if it is still wanted")
    check_version(new.name, _version_in(old), new.version)


def check_version(name: str, version: int, expected: int) -> None:
    if version != expected:
        raise Conflict(f"job type {name!r} is at version {version}, not {expected}; read it again")


def _version_in(body: bytes) -> int:
    """Records of earlier releases have none; what cannot be read counts as such a one."""
    try:
        return _decode(body).version
    except msgspec.MsgspecError:
        return 1
