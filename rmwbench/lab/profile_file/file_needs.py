"""The needs that a configuration file has of its host. The file is read as it is on the robot, and
nothing in it is replaced.

Elements of XML are looked up by their names, in any namespace and case."""

import ipaddress
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias
from xml.etree import ElementTree
from xml.parsers import expat

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
LOCALHOST = "localhost"


class Unreadable(Exception):
    """A file is not of its format. Cyclone DDS, for one, would not report that."""


class OtherMiddlewaresFile(Unreadable):
    """The file is that of another middleware, which the text names."""


@dataclass(frozen=True)
class Locator:
    """An address or a name, and a port (0 for any), to listen at or to connect to."""

    address: str
    port: int

    @property
    def is_everywhere(self) -> bool:
        ip = ip_address(self.address)
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
    """A setting that has another name, `today`, from the version `since` on. `reader` is the
    middleware of our catalogue that reads the old name."""

    setting: str
    since: str
    today: str
    reader: str


@dataclass(frozen=True, kw_only=True)
class FileNeeds:
    """The needs of a file. `own` are addresses that its host must have, `peers` those at which it
    looks for others. `daemons` are the names of the daemons that it uses, and `servers` the
    locators at which they must listen; the file of a daemon has the daemon's name in `is_daemon`.
    `listens` are fixed ports. `writes` are the paths of the files that it writes (`${…}` stands for
    any text), `folders` the directories of its own files. `apart` tells why two processes with this
    file never find each other. `participants` is their largest number on a host."""

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


NO_NEEDS = FileNeeds()


def ip_address(text: str) -> Address | None:
    """The IP address that a text is; None for a name and for a placeholder."""
    try:
        return ipaddress.ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        return None


def reachable(texts: Iterable[str]) -> tuple[Address, ...]:
    """The addresses in a file that a host may have (no loopback, multicast …), each once."""
    ips: list[Address] = [ip for text in texts if (ip := ip_address(text)) is not None]
    return tuple(
        dict.fromkeys(
            ip
            for ip in ips
            if not (ip.is_loopback or ip.is_multicast or ip.is_unspecified or ip.is_link_local)
        )
    )


def names(texts: Iterable[str]) -> tuple[str, ...]:
    """The names among the addresses in a file, which no host of ours can resolve."""
    return tuple(
        dict.fromkeys(
            text
            for text in texts
            if text
            and ip_address(text) is None
            and text != LOCALHOST
            and not any(sign in text for sign in "{$*")
        )
    )


def _is_local(locator: Locator) -> bool:
    ip = ip_address(locator.address)
    return locator.address == LOCALHOST or (ip is not None and ip.is_loopback)


Element = ElementTree.Element
_SEVERAL_ROOTS = expat.errors.codes[expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT]
_MIDDLEWARE_OF_ROOT = {"cyclonedds": "Cyclone DDS", "profiles": "Fast DDS", "dds": "Fast DDS"}


def root_of(text: str, roots: tuple[str, ...]) -> Element | None:
    """The root element; None for no or several documents. Raises Unreadable."""
    if not text.strip():
        return None
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        if error.code == _SEVERAL_ROOTS:
            return None
        raise Unreadable(str(error)) from None
    name = tag(root)
    if name not in roots and name in _MIDDLEWARE_OF_ROOT:
        raise OtherMiddlewaresFile(_MIDDLEWARE_OF_ROOT[name])
    return root


def tag(element: Element) -> str:
    return str(element.tag).rpartition("}")[2].lower()


def elements_at(element: Element, *path: str) -> Iterator[Element]:
    """Yields the elements along a path of names in lower case, from an element downwards."""
    if not path:
        yield element
        return
    for child in element:
        if tag(child) == path[0]:
            yield from elements_at(child, *path[1:])


def descendants(element: Element, name: str) -> Iterator[Element]:
    return (descendant for descendant in element.iter() if tag(descendant) == name)


def texts(element: Element, *path: str) -> list[str]:
    """The texts of the elements along a path, without empty ones."""
    stripped = ((e.text or "").strip() for e in elements_at(element, *path))
    return [text for text in stripped if text]


def attribute(element: Element, name: str) -> str | None:
    return next((value for key, value in element.attrib.items() if key.lower() == name), None)
