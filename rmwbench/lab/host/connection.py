"""Messages over a TCP connection between an orchestrator and an agent: a header in JSON, and a body
of bytes.

Neither end waits for the other: bytes that do not fit into the socket are queued here. A connection
that is silent for too long counts as closed, so the remote host ends even if its orchestrator has
vanished.

A file is sent in compressed pieces without its holes and zeros: a records file is mostly zeros
before a trial, and so is its unused rest afterwards.
"""

import errno
import json
import os
import select
import socket
import ssl
import struct
import time
import zlib
from collections import deque
from collections.abc import Iterator
from typing import Any

_SIZES = struct.Struct("<II")
LARGEST_HEADER_BYTES, LARGEST_BODY_BYTES = 1 << 20, 1 << 22
READ_BYTES = 1 << 18
WRITE_BYTES = 1 << 14
"""The most bytes of one call: a TLS record, since a TLS socket reports only whole calls as sent."""
SILENCE_S = 12
"""The longest silence of the other machine. Roaming in a WiFi takes seconds."""

GREETING = b"welcome\n"
"""The answer of an agent to a caller with the right token."""
CLOCK_NUMBER, CLOCK_TIMES = struct.Struct("<q"), struct.Struct("<qqq")
"""A request (a number), and the answer: the number, and when it was received and answered."""

_NOT_NOW = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
Message = tuple[dict[str, Any], bytes]


class Disconnected(Exception):
    """The other end is gone, or speaks another protocol."""


def _parse_header(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise Disconnected("the other end sent no message of ours")
    return header


def prepare(sock: socket.socket) -> None:
    """Makes the socket send at once, and notice a vanished peer within SILENCE_S."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 2)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 2)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, SILENCE_S // 2 - 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENCE_S * 1000)


class Connection:
    """One end of a connection."""

    def __init__(self, sock: socket.socket):
        """Takes over the socket, and closes it in `close`."""
        prepare(sock)
        sock.setblocking(False)
        self._socket = sock
        self._incoming = bytearray()
        self._outgoing: deque[memoryview] = deque()

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def wants_to_write(self) -> bool:
        return bool(self._outgoing)

    def send(self, header: dict[str, Any], body: bytes = b"") -> None:
        """Queues a message, and sends what the socket takes. Raises Disconnected."""
        text = json.dumps(header, separators=(",", ":")).encode()
        self._outgoing.append(memoryview(_SIZES.pack(len(text), len(body)) + text + body))
        self.flush()

    def flush(self) -> bool:
        """Sends the part of the queue that the socket takes, and returns whether it took any.
        Raises Disconnected."""
        sent = 0
        try:
            while self._outgoing:
                sent = self._socket.send(self._outgoing[0][:WRITE_BYTES])
                if sent == len(self._outgoing[0]):
                    self._outgoing.popleft()
                else:
                    self._outgoing[0] = self._outgoing[0][sent:]
        except _NOT_NOW:
            pass
        except OSError as error:
            raise Disconnected(error.strerror or str(error)) from None
        return sent > 0

    def drain(self) -> None:
        """Sends the whole queue. Raises Disconnected, also after SILENCE_S without progress."""
        deadline = time.monotonic() + SILENCE_S
        writable = select.poll()
        writable.register(self._socket, select.POLLOUT)
        while self._outgoing:
            writable.poll(500)
            if self.flush():
                deadline = time.monotonic() + SILENCE_S
            elif time.monotonic() > deadline:
                raise Disconnected("the other end reads nothing")

    def receive(self) -> Iterator[Message]:
        """Yields every message that has arrived. Raises Disconnected, after the last of them."""
        end_reason = self._read()
        begin = 0
        while len(self._incoming) - begin >= _SIZES.size:
            header_bytes, body_bytes = _SIZES.unpack_from(self._incoming, begin)
            if header_bytes > LARGEST_HEADER_BYTES or body_bytes > LARGEST_BODY_BYTES:
                raise Disconnected("the other end sent no message of ours")
            body_begin = begin + _SIZES.size + header_bytes
            end = body_begin + body_bytes
            if len(self._incoming) < end:
                break
            header = _parse_header(bytes(self._incoming[begin + _SIZES.size : body_begin]))
            message = header, bytes(self._incoming[body_begin:end])
            begin = end
            yield message
        del self._incoming[:begin]
        if end_reason is not None:
            raise Disconnected(end_reason)

    def _read(self) -> str | None:
        """Takes the bytes that have arrived, READ_BYTES or little more, and returns why no more can
        come; None if they can. A TLS record has at most 16 KiB and is taken whole, so none of it
        stays where a selector does not see it."""
        size = len(self._incoming)
        while len(self._incoming) - size < READ_BYTES:
            try:
                data = self._socket.recv(READ_BYTES)
            except _NOT_NOW:
                break
            except OSError as error:
                return error.strerror or str(error)
            if not data:
                return "the other end closed the connection"
            self._incoming += data
        return None

    def close(self) -> None:
        self._socket.close()


PIECE_BYTES = 1 << 20
_ZEROS = bytes(PIECE_BYTES)


def pieces(fd: int) -> Iterator[tuple[int, bytes]]:
    """Yields (offset, compressed content) of each piece of a file that is not all zeros."""
    size = os.fstat(fd).st_size
    offset = 0
    while offset < size:
        try:
            offset = os.lseek(fd, offset, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # no data from here on
                return
            raise
        data = os.pread(fd, PIECE_BYTES, offset)
        if data and data != _ZEROS[: len(data)]:
            yield offset, zlib.compress(data, 1)
        offset += max(1, len(data))


def put_piece(fd: int, offset: int, piece: bytes) -> None:
    """Writes a piece at its offset. Raises zlib.error where it is malformed or too large."""
    unpacking = zlib.decompressobj()
    data = unpacking.decompress(piece, PIECE_BYTES)
    if not unpacking.eof or unpacking.unused_data:
        raise zlib.error(f"not one piece of at most {PIECE_BYTES} bytes")
    while data:
        written = os.pwrite(fd, data, offset)
        data, offset = data[written:], offset + written
