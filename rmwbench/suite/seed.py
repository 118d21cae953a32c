"""Seeds by name: every random choice of a campaign is a hash of the campaign's seed and of the
choice's purpose.

There is no shared generator, because an added arm or a resumed campaign must not change other
draws, and Python promises the stream of `random.shuffle` across versions only informally.
"""

from hashlib import blake2b

SEED_BITS = 53
"""Integers are exact in every JSON reader up to 2^53."""


def derive_seed(seed: int, *purpose: str | int) -> int:
    """A seed below 2^53 for `purpose`, the same on every machine and Python version."""
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in (seed, *purpose))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") >> (64 - SEED_BITS)
