"""The needs that a configuration file has of the host that it is read on: as it stands on the
robot, with nothing in it replaced.

Elements of XML are looked up by their names, whatever their namespace and case."""

import ipaddress
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias
from xml.etree import ElementTree
from xml.parsers import expat

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
LOCALHOST = "localhost"


class Unreadable(Exception):
    """A file cannot be read as its format, and a middleware may not say so: Cyclone DDS takes the
    settings before the mistake."""


class NotItsFile(Unreadable):
    """The file is another middleware's; the text says whose."""


@dataclass(frozen=True)
class Locator:
    """A place to listen or to connect to: an address, or a name, and a port, 0 for any."""

    address: str
    port: int

    @property
    def is_everywhere(self) -> bool:
        ip = parsed(self.address)
        return ip is not None and ip.is_unspecified

    def __str__(self) -> str:
        address = f"[{self.address}]" if ":" in self.address else self.address
        return f"{address}:{self.port}"

    def reaches(self, listener: "Locator") -> bool:
        """Whether a connection to this locator reaches that listener."""
        same = self.address == listener.address or listener.is_everywhere
        return self.port == listener.port and (same or (_is_local(self) and _is_local(listener)))


@dataclass(frozen=True)
class Renaming:
    """A setting that the versions from `since` on have under another name: `today`."""

    setting: str
    since: str
    today: str
    reader: str
    """The middleware of our catalogue that reads the old name."""


@dataclass(frozen=True, kw_only=True)
class FileNeeds:
    """`own` are addresses that its host must have, `peers` those where it looks for others.
    `daemons` are the names of the daemons that it connects to or uses, `servers` where they must
    listen; a file that is a daemon's itself has its name in `is_daemon`. `listens` are fixed ports.
    `writes` are the paths of files, as they are written (`${…}` stands for anything), `folders`
    those that it keeps files of its own in. `apart`: why two processes with this file never find
    each other. `participants`: the most of one host."""

    is_daemon: str | None = None
    domain_id: int | None = None
    interfaces: tuple[str, ...] = ()
    own: tuple[Address, ...] = ()
    peers: tuple[Address, ...] = ()
    unresolved: tuple[str, ...] = ()
    daemons: tuple[str, ...] = ()
    servers: tuple[Locator, ...] = ()
    listens: tuple[Locator, ...] = ()
    writes: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    apart: str | None = None
    participants: int | None = None
    receive_buffer_bytes: int | None = None
    send_buffer_bytes: int | None = None
    renamed: tuple[Renaming, ...] = ()


NOTHING = FileNeeds()


def parsed(text: str) -> Address | None:
    """The IP address in a text; None for a name, and for a word that stands for an address."""
    try:
        return ipaddress.ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        return None


def reachable(texts: Iterable[str]) -> tuple[Address, ...]:
    """The addresses in a file that a host may have: no loopback, no group, no link-local one, each
    once."""
    ips: list[Address] = [ip for text in texts if (ip := parsed(text)) is not None]
    return tuple(
        dict.fromkeys(
            ip
            for ip in ips
            if not (ip.is_loopback or ip.is_multicast or ip.is_unspecified or ip.is_link_local)
        )
    )


def names(texts: Iterable[str]) -> tuple[str, ...]:
    """The names among the addresses in a file, which no host of ours resolves."""
    return tuple(
        dict.fromkeys(
            text
            for text in texts
            if text
            and parsed(text) is None
            and text != LOCALHOST
            and not any(sign in text for sign in "{$*")
        )
    )


def _is_local(locator: Locator) -> bool:
    ip = parsed(locator.address)
    return locator.address == LOCALHOST or (ip is not None and ip.is_loopback)


Element = ElementTree.Element
_SEVERAL = expat.errors.codes[expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT]
_WHOSE = {"cyclonedds": "Cyclone DDS", "profiles": "Fast DDS", "dds": "Fast DDS"}


def root_of(text: str, roots: tuple[str, ...]) -> Element | None:
    """The root element; None for an empty text, and for several documents in a row, which Cyclone
    DDS takes. Raises Unreadable."""
    if not text.strip():
        return None
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        if error.code == _SEVERAL:
            return None
        raise Unreadable(str(error)) from None
    name = tag(root)
    if name not in roots and name in _WHOSE:
        raise NotItsFile(_WHOSE[name])
    return root


def tag(element: Element) -> str:
    return str(element.tag).rpartition("}")[2].lower()


def elements_at(element: Element, *path: str) -> Iterator[Element]:
    """The elements below it along a path of names, which are in lower case."""
    if not path:
        yield element
        return
    for child in element:
        if tag(child) == path[0]:
            yield from elements_at(child, *path[1:])


def anywhere(element: Element, name: str) -> Iterator[Element]:
    return (e for e in element.iter() if tag(e) == name)


def texts(element: Element, *path: str) -> list[str]:
    """The texts of the elements at that path; empty ones are left out."""
    stripped = ((e.text or "").strip() for e in elements_at(element, *path))
    return [text for text in stripped if text]


def attribute(element: Element, name: str) -> str | None:
    return next((value for key, value in element.attrib.items() if key.lower() == name), None)
