"""TLS between an agent and an orchestrator.

The agent makes a certificate at its start, which reaches the orchestrator another way (the standard
output of the agent). The orchestrator trusts this certificate alone, whatever name is in it, and
proves itself by a token. No third party can read, change or repeat their messages.
"""

import datetime
import os
import socket
import ssl
from dataclasses import dataclass

from rmwbench.errors import UserError

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
    """Receives so many bytes, or fewer where the other end closes."""
    content = b""
    while len(content) < size and (data := sock.recv(size - len(content))):
        content += data
    return content
