"""All hosts of one trial. One alone is as it always was; several have a TAP device each and a common
directory (common.py), and one more, which no suite names, runs the network between them
(rmwbench/lab/network).

Starting does not wait, so that a campaign can have the next trial's hosts ready while it writes the
last one's tables.
"""

import time
from collections.abc import Iterator, Mapping, Sequence

from rmwbench.lab.host import common
from rmwbench.lab.host.host import READY_TIMEOUT_S, TARGETS, Host
from rmwbench.lab.host.host_choice import make
from rmwbench.lab.host.remote import RemoteHost

NO_OFFSETS: Mapping[str, int] = {}
NO_BESIDE: Mapping[str, Sequence[str]] = {}


class Hosts:
    """Name → Host, in the order of the names. Use as a context manager, or `close()` it. `network`
    is the host of the network's own process, None where one host is alone. `clock_offsets_s`: as
    `Host`'s, by name. `beside`: the names of their devices besides `eth0` that lead to others."""

    def __init__(
        self,
        name: str,
        hosts: Sequence[str],
        clock_offsets_s: Mapping[str, int] = NO_OFFSETS,
        beside: Mapping[str, Sequence[str]] = NO_BESIDE,
    ):
        several = len(hosts) > 1
        self._by_name: dict[str, Host | RemoteHost] = {}
        self.network: Host | None = None
        self._common = common.make(name) if several else None
        try:
            for host in hosts:
                shown, offset_s = (
                    f"{name}/{host}" if several else name,
                    clock_offsets_s.get(host, 0),
                )
                alone = not several and not offset_s
                more = beside.get(host, ())
                made = (
                    make(shown)
                    if alone
                    else Host(shown, tap=several, beside=more, clock_offset_s=offset_s)
                )
                if self._common is not None:
                    made.environment = {common.VARIABLE: str(self._common)}
                self._by_name[host] = made
            if several:
                ports = len(hosts) + sum(map(len, beside.values()))
                self.network = Host(
                    f"{name}/network", targets=TARGETS + ports, removes=self._common
                )
        except BaseException:
            self.close()
            raise

    @classmethod
    def alone(cls, name: str, host: Host) -> "Hosts":
        """One that was made beforehand."""
        return cls.of({name: host})

    @classmethod
    def of(cls, hosts: Mapping[str, Host | RemoteHost]) -> "Hosts":
        """Some that were made beforehand, with no network of ours between them."""
        made = cls.__new__(cls)
        made._by_name, made.network, made._common = dict(hosts), None, None
        return made

    @property
    def remote(self) -> dict[str, RemoteHost]:
        """Those on other machines."""
        return {name: host for name, host in self._by_name.items() if isinstance(host, RemoteHost)}

    def __enter__(self) -> "Hosts":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __getitem__(self, name: str) -> Host | RemoteHost:
        return self._by_name[name]

    @property
    def first(self) -> Host | RemoteHost:
        return next(iter(self._by_name.values()))

    @property
    def all(self) -> list[Host | RemoteHost]:
        """Every one, the network's own included."""
        return [*self._by_name.values(), *([self.network] if self.network else [])]

    def wait_ready(self, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Returns once processes can be spawned on all of them. Raises HostBroken."""
        deadline = time.monotonic() + timeout_s
        for host in self.all:
            host.wait_ready(max(0.1, deadline - time.monotonic()))

    def close(self) -> None:
        """Ends every process of every host and waits until they are gone; may be called twice."""
        for host in self.all:
            host.leave()
        for host in self.all:
            host.close()
        if self._common is not None:
            common.remove(self._common)
