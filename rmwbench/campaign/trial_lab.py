"""The lab in which a campaign's trials run, and the signals that end them.

On Ctrl-C and SIGTERM a trial is given up at once, but writing is finished. Hence two phases: inside
`interruptible()` a signal raises StopSignal, outside it is kept until the next such phase begins.
"""

import contextlib
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, Protocol, Self

from rmwbench.bundle import BundleWriter
from rmwbench.bundle.campaign_json import MachineDocument
from rmwbench.campaign import calibrations
from rmwbench.campaign.plan import preflight, unsupported_cells
from rmwbench.campaign.plan.machine_limits import MachineLimits
from rmwbench.campaign.plan.plan import Plan
from rmwbench.campaign.plan.rehearsal import rehearse
from rmwbench.campaign.plan.socket_buffers import Kernel, Kernels
from rmwbench.campaign.plan.source_lines import Places
from rmwbench.campaign.record.campaign_document import machine_table
from rmwbench.campaign.trial.outcome import Order
from rmwbench.campaign.trial.trial_life import TrialResult, hosts_ahead, run_trial
from rmwbench.lab import machine
from rmwbench.lab.host import HostKind, Hosts, check, host_kind
from rmwbench.lab.machine import machine_card as machine_card
from rmwbench.lab.middleware import Worker
from rmwbench.suite.cells import Cell


@dataclass(frozen=True)
class TrialEnd:
    """The end of a trial on a machine. `result` is the TrialResult, or a handle for `Lab.fetch`;
    `lost`: the machine is gone, and the result with it."""

    machine: str
    order: Order
    status: str
    reason: str | None
    cause: str | None
    result: Any
    lost: bool = False


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopSignal(BaseException):
    """A signal that ends the campaign; `name` is SIGINT or the like. It is not an Exception, so
    that no handler swallows it."""

    def __init__(self, name: str):
        self.name = name
        super().__init__(name)


class StopSignals:
    """The handlers of signals: a context manager around a campaign, in the main thread."""

    def __init__(self) -> None:
        self.signal_name: str | None = None
        self._interruptible = False
        self._before: dict[int, object] = {}

    def __enter__(self) -> "StopSignals":
        for number in SIGNALS:
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """Raise StopSignal as soon as a signal comes, or at once if one came before."""
        self._interruptible = True
        try:
            if self.signal_name:
                raise StopSignal(self.signal_name)
            yield
        finally:
            self._interruptible = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.signal_name = signal.Signals(number).name
        if self._interruptible:
            # a second signal must not interrupt the cleaning up of the first
            self._interruptible = False
            raise StopSignal(self.signal_name)


class ResultsLost(Exception):
    """The machine that had the results is gone."""


class BundleCopy(Protocol):
    """A copy of the bundle at another place."""

    address: str

    def update(self) -> int:
        """Copy new files; return their number."""


class Lab:
    """This machine, which runs one trial at a time: the next trial's hosts are started by `start`,
    before the last one's tables are written, and the trial runs in `wait`.

    It is also the base class of `rmwbench.cluster.fleet.Fleet`, which overrides its methods. Use it
    as a context manager.
    """

    copy: BundleCopy | None = None
    """The copy of the campaign's bundle, if there is one."""

    def __init__(self) -> None:
        self._next: tuple[Order, Mapping[str, Worker]] | None = None
        self._hosts: Hosts | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._close_hosts()

    def machine(self) -> MachineLimits | None:
        """Return the resources of this machine; None if trials run elsewhere. A plan marks the
        cells that need more, and a budget leaves them out first."""
        return MachineLimits.here()

    def host(self) -> HostKind:
        """Return the kind of host of the trials."""
        return host_kind()

    def machine_time_s(self, make: Callable[[float | None], Plan], budget_s: float) -> float:
        """Return the machine time of the blocks that fit into the time `budget_s`; `make` plans
        with a budget."""
        return budget_s

    def check(self, plan: Plan, workers: Mapping[str, Worker]) -> None:
        """Raise UserError if the plan cannot be run."""
        preflight.check_memory(plan)
        check().close()

    def lacking(
        self, cells: Sequence[Cell], workers: Mapping[str, Worker], kind: HostKind
    ) -> dict[int, str]:
        """Return `unsupported_cells.machine_reasons` for all machines that trials may run on. Call it
        after `check`."""
        return unsupported_cells.machine_reasons(cells, workers, kind)

    def rehearse(
        self, cells: Sequence[Cell], workers: Mapping[str, Worker], places: Places
    ) -> dict[int, str]:
        return rehearse(cells, workers, places)

    def describe(self) -> dict[str, Any]:
        """Return the machine card."""
        return machine.describe()

    def kernels(self) -> Kernels:
        """Return the kernels that trials run on."""
        return Kernels(Kernel(machine_card.sysctls()))

    def calibration(self) -> dict[str, Any]:
        """Return the newest calibration of the machine that trials run on, for campaign.json; empty
        if there is none."""
        return calibrations.for_campaign(machine.describe())

    def document(self) -> dict[str, Any]:
        """Return the lab's own keys of campaign.json."""
        return {}

    def idle(self) -> list[str]:
        """Return the machines that could run a trial now."""
        return [] if self._next else [""]

    def start(self, machine: str, name: str, order: Order, workers: Mapping[str, Worker]) -> None:
        """Start a trial of the campaign `name` on an idle machine."""
        self._next = order, workers
        self._hosts = hosts_ahead(f"{name}/{order.trial}", order.cell)

    def wait(self, signals: StopSignals) -> list[TrialEnd]:
        """Wait for ends of trials; return them, perhaps none. Raises StopSignal."""
        assert self._next is not None
        order, workers = self._next
        try:
            with signals.interruptible():
                result = run_trial(order, workers, self._hosts)
        finally:
            self._close_hosts()
        self._next = None
        return [TrialEnd("", order, result.status, result.reason, result.cause, result)]

    def running(self) -> list[Order]:
        """Return the trials under way."""
        return [self._next[0]] if self._next else []

    def is_here(self, machine: str) -> bool:
        """Whether a trial of that machine would run beside this process once it is started."""
        return False  # a trial runs within `wait` only

    def measures_here(self) -> bool:
        """Whether a trial runs on this machine now, so that nothing else should run."""
        return False

    def fetch(self, ends: Sequence[TrialEnd]) -> list[TrialResult]:
        """Return the results of these trials. Raises ResultsLost."""
        return [end.result for end in ends]

    def write_machines(self, writer: BundleWriter, card: MachineDocument, *, at_end: bool) -> None:
        """Write the table `machine`, when the campaign begins and when it ends."""
        if at_end:
            writer.write_whole_campaign({"machine": machine_table(card, machine.state())})

    def _close_hosts(self) -> None:
        if self._hosts is not None:
            self._hosts.close()
            self._hosts = None
