"""Which partition a key belongs to: the one that Kafka's own partitioner chooses, as other programs do too."""

_MASK = 0xFFFFFFFF
_FACTOR = 0x5BD1E995
_SEED = 0x9747B28C


def partition_of(key: bytes, partitions: int) -> int:
    """The partition that Java's default partitioner chooses."""
    return (_murmur2(key) & 0x7FFFFFFF) % partitions


def _murmur2(data: bytes) -> int:
    """Murmur2 in 32 bits, with Kafka's seed."""
    whole = len(data) & ~3
    found = (_SEED ^ len(data)) & _MASK
    for at in range(0, whole, 4):
        part = (int.from_bytes(data[at : at + 4], "little") * _FACTOR) & _MASK
        part = ((part ^ (part >> 24)) * _FACTOR) & _MASK
        found = ((found * _FACTOR) & _MASK) ^ part
    if rest := data[whole:]:
        found = ((found ^ int.from_bytes(rest, "little")) * _FACTOR) & _MASK
    found = ((found ^ (found >> 13)) * _FACTOR) & _MASK
    return found ^ (found >> 15)
