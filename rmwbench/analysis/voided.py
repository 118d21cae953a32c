"""Which rules made a trial void, from the reason that the journal keeps: a reason starts with its rule's name
(`path: …`, `granted: …`), behind `machine: ` for the rules that look at the machine, and several are joined by `; `.
"""

import re

_FIRST = re.compile(r"(?:machine: )?([a-z][a-z_]*): ")
# A reason's own text may hold a semicolon and a colon: only these begin another one.
_FURTHER = re.compile(r"; (?:machine: ([a-z][a-z_]*)|(records|granted|clock|path)): ")


def rules_in(reason: str | None) -> list[str]:
    """The rules' names in order, each once however many endpoints broke it: `["granted", "steal"]`."""
    first = _FIRST.match(reason or "")
    names = [] if first is None else [first[1]]
    names += [own or other for own, other in _FURTHER.findall(reason or "")]
    return list(dict.fromkeys(names))
