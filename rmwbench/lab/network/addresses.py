"""Addresses of the hosts of a trial. They follow from the hosts' numbers, which count from 1 in the
order of the workload's hosts.

The addresses are fixed: they lie in namespaces of the trial's own and cannot collide with those of
the machine or of another trial.
"""

import socket

PREFIX_BITS = 24
GATEWAY = bytes([10, 77, 0, 254])
BROADCAST = bytes([10, 77, 0, 255])
SECOND_ADDRESS_OFFSET = 100
"""Added to a host's number for its second address; at least `MOST_HOSTS` of the suite."""


def ipv4(number: int, *, second: bool = False, network: int = 0) -> bytes:
    """The IPv4 address of a host in a `network`; 0 is that of `eth0`."""
    return bytes([10, 77, network, number + (SECOND_ADDRESS_OFFSET if second else 0)])


def broadcast(network: int) -> bytes:
    return bytes([10, 77, network, 255])


def text(address: bytes) -> str:
    return socket.inet_ntop(socket.AF_INET if len(address) == 4 else socket.AF_INET6, address)


def mac(number: int, network: int = 0) -> bytes:
    return bytes([0x02, 0x4D, 0, 0, network, number])


def mac_text(number: int, network: int = 0) -> str:
    return mac(number, network).hex(":")


def link_local(number: int) -> bytes:
    """The IPv6 address that the kernel gives a device with this MAC (RFC 4291, appendix A)."""
    m = mac(number)
    return bytes.fromhex("fe80000000000000") + bytes([m[0] ^ 2]) + m[1:3] + b"\xff\xfe" + m[3:]
