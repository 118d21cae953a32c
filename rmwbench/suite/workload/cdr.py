"""Just enough of a CDR writer to lay out the bytes around a payload.

XCDR version 1, little endian: a primitive is aligned to its own size, counted from behind the
4-byte encapsulation header (OMG DDS-XTypes 1.3, 7.4.1; the encapsulation identifier is RTPS 2.5,
10.2). The payload is marked, not written: it may be megabytes of message.
"""

import struct

ENCAPSULATION = bytes.fromhex("00010000")  # CDR_LE, no options


class CdrLayout:
    """Collects fields in order; `prefix` and `suffix` are the bytes before and after the one call
    of `payload`."""

    def __init__(self) -> None:
        self._parts = [bytearray(ENCAPSULATION), bytearray()]
        self._body_bytes = 0
        self.payload_bytes: int | None = None
        self.piece_bytes: int | None = None
        """The size of a piece, where a payload stands in several (`piece`); None where it lies together."""

    @property
    def prefix(self) -> bytes:
        return bytes(self._parts[0])

    @property
    def suffix(self) -> bytes:
        return bytes(self._parts[1])

    @property
    def total_bytes(self) -> int:
        """Encapsulation header, prefix, payload and suffix."""
        return len(ENCAPSULATION) + self._body_bytes

    def align(self, size_bytes: int) -> "CdrLayout":
        return self._append(bytes(-self._body_bytes % size_bytes))

    def u8(self, *values: int) -> "CdrLayout":
        return self._append(bytes(values))

    def u16(self, *values: int) -> "CdrLayout":
        return self.align(2)._append(struct.pack(f"<{len(values)}H", *values))

    def u32(self, *values: int) -> "CdrLayout":
        return self.align(4)._append(struct.pack(f"<{len(values)}I", *values))

    def u64(self, *values: int) -> "CdrLayout":
        return self.align(8)._append(struct.pack(f"<{len(values)}Q", *values))

    def f32(self, *values: float) -> "CdrLayout":
        return self.align(4)._append(struct.pack(f"<{len(values)}f", *values))

    def f64(self, *values: float) -> "CdrLayout":
        return self.align(8)._append(struct.pack(f"<{len(values)}d", *values))

    def string(self, text: str) -> "CdrLayout":
        """Length with the terminating zero, the text, the zero."""
        data = text.encode() + b"\0"
        return self.u32(len(data))._append(data)

    def payload(self, payload_bytes: int) -> "CdrLayout":
        """The place where the payload stands; alignment behind it is counted through it."""
        if self.payload_bytes is not None:
            raise ValueError("a layout has one payload")
        self.payload_bytes = payload_bytes
        self._body_bytes += payload_bytes
        return self

    def piece(self, piece_bytes: int) -> "CdrLayout":
        """The next of several pieces, of one size, in which the payload stands. What is between
        them is the first part of `suffix`, as if the pieces lay together before it."""
        self.piece_bytes = piece_bytes
        self.payload_bytes = (self.payload_bytes or 0) + piece_bytes
        self._body_bytes += piece_bytes
        return self

    def _append(self, data: bytes) -> "CdrLayout":
        self._parts[self.payload_bytes is not None] += data
        self._body_bytes += len(data)
        return self
