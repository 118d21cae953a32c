"""Messages over a TCP connection between an orchestrator and an agent: a header in JSON, and a body
of bytes; and the bytes of a process's control socket, from either end.

Neither end waits for the other: bytes that do not fit into the socket are queued here. A connection
that is silent for too long counts as closed, so the remote host ends even if its orchestrator has
vanished.

A file is sent in compressed pieces without its holes and zeros: a records file is mostly zeros
before a trial, and so is its unused rest afterwards.

A connection between machines is under TLS. The agent makes a certificate at its start, which reaches
the orchestrator another way (the standard output of the agent). The orchestrator trusts this
certificate alone, whatever name is in it, and proves itself by a token. No third party can read,
change or repeat their messages.
"""

import datetime
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
from dataclasses import dataclass
from typing import Any

from rmwbench.errors import UserError

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


CONTROL_READ_BYTES = 1 << 16


def send_queued(sock: socket.socket, queue: bytearray) -> None:
    """Sends as much of the queue as the socket takes, and removes it from the queue. Empties the
    queue where the other end is gone: its end of file, which tells more, is on its way."""
    try:
        while queue:
            del queue[: sock.send(queue)]
    except BlockingIOError:
        pass
    except (BrokenPipeError, ConnectionResetError):
        queue.clear()


def read_arrived(sock: socket.socket) -> bytes | None:
    """Returns at most CONTROL_READ_BYTES: no bytes at the end of file, None where nothing has come."""
    try:
        return sock.recv(CONTROL_READ_BYTES)
    except BlockingIOError:
        return None
    except ConnectionResetError:
        return b""


VALID_DAYS = 30
"""A campaign is shorter; the clocks of two machines may be a day apart."""


@dataclass(frozen=True)
class AgentIdentity:
    """The certificate and the key of an agent, both as PEM. The key never leaves its process."""

    certificate: str
    key: bytes


def new_identity() -> AgentIdentity:
    """Makes a self-signed certificate. Raises UserError where the library is missing."""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import NameOID
    except ImportError:
        raise UserError(
            "no library makes the certificate of an agent",
            expected="the package cryptography",
            fix="pip install 'rmwbench[cluster]' on this machine",
        ) from None
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "rmwbench agent")])
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + VALID_DAYS * day)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    return AgentIdentity(
        certificate.public_bytes(serialization.Encoding.PEM).decode(),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain),
    )


def server_context(identity: AgentIdentity) -> ssl.SSLContext:
    """The TLS context of an agent."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0  # a connection is never resumed
    fd = os.memfd_create("rmwbench-agent-key", os.MFD_CLOEXEC)  # the library reads files only
    try:
        os.write(fd, identity.key + identity.certificate.encode())
        context.load_cert_chain(f"/proc/self/fd/{fd}")
    finally:
        os.close(fd)
    return context


def connect(address: str, port: int, certificate: str, timeout_s: float) -> ssl.SSLSocket:
    """Connects to the agent with this certificate; the socket keeps the time-out. Raises OSError,
    and ssl.SSLError where another program than this agent answers."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.load_verify_locations(cadata=certificate)
    sock = socket.create_connection((address, port), timeout_s)
    try:
        secured = context.wrap_socket(sock)
    except BaseException:
        sock.close()
        raise
    if secured.getpeercert(binary_form=True) != ssl.PEM_cert_to_DER_cert(certificate):
        secured.close()
        raise ssl.SSLError("another certificate")
    return secured


def receive_exactly(sock: socket.socket, size: int) -> bytes:
    """Receives `size` bytes, or fewer where the other end closes."""
    content = b""
    while len(content) < size and (data := sock.recv(size - len(content))):
        content += data
    return content
