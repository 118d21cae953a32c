"""XML as configurations are asked: elements by their names, whatever their namespace and case."""

from collections.abc import Iterator
from xml.etree import ElementTree
from xml.parsers import expat

from rmwbench.lab.profile_file.file_needs import NotItsFile, Unreadable

Element = ElementTree.Element
_SEVERAL = expat.errors.codes[expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT]
_WHOSE = {"cyclonedds": "Cyclone DDS", "profiles": "Fast DDS", "dds": "Fast DDS"}


def root_of(text: str, roots: tuple[str, ...]) -> Element | None:
    """None for nothing, and for several documents in a row, which Cyclone DDS takes. Raises
    Unreadable."""
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


def at(element: Element, *path: str) -> Iterator[Element]:
    """The elements below it along a path of names, which are in lower case."""
    if not path:
        yield element
        return
    for child in element:
        if tag(child) == path[0]:
            yield from at(child, *path[1:])


def anywhere(element: Element, name: str) -> Iterator[Element]:
    return (one for one in element.iter() if tag(one) == name)


def texts(element: Element, *path: str) -> list[str]:
    """What stands in the elements of that path; empty ones are left out."""
    found = ((one.text or "").strip() for one in at(element, *path))
    return [text for text in found if text]


def attribute(element: Element, name: str) -> str | None:
    return next((value for key, value in element.attrib.items() if key.lower() == name), None)
