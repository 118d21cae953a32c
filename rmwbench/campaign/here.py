"""Where a campaign's trials run: what is asked of such a place before a campaign and while it runs,
and this machine as one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from rmwbench.bundle import BundleWriter
from rmwbench.bundle.campaign_json import MachineDocument
from rmwbench.campaign import calibrations
from rmwbench.campaign.plan import preflight, unsupported
from rmwbench.campaign.plan.machine_limits import MachineLimits
from rmwbench.campaign.plan.plan import Plan
from rmwbench.campaign.plan.rehearse import rehearse
from rmwbench.campaign.plan.socket_buffers import Kernel, Kernels
from rmwbench.campaign.plan.source_lines import Places
from rmwbench.campaign.record.campaign_document import machine_table
from rmwbench.campaign.stop import StopSignals
from rmwbench.campaign.trial.outcome import Order
from rmwbench.campaign.trial.trial_life import TrialResult, hosts_ahead, run_trial
from rmwbench.lab import machine
from rmwbench.lab.host import HostKind, Hosts, check, host_kind
from rmwbench.lab.machine import card as machine_card
from rmwbench.lab.middleware import Worker
from rmwbench.suite.cells import Cell


@dataclass(frozen=True)
class TrialEnd:
    """A trial that ended on a machine, in a few words; `result` is the whole, or what `Lab.fetch`
    gets it by. `lost`: the machine is gone, and the result with it."""

    machine: str
    order: Order
    status: str
    reason: str | None
    cause: str | None
    result: Any
    lost: bool = False


class ResultsLost(Exception):
    """The machine that had the results is gone."""


class BundleCopy(Protocol):
    """A copy of the bundle at another place."""

    address: str

    def update(self) -> int:
        """Copies what is new; the number of files."""


class Lab(Protocol):
    """Where a campaign's trials run: on this machine (`Here`), or on those of a cluster
    (rmwbench/cluster). Use it as a context manager."""

    @property
    def copy(self) -> BundleCopy | None:
        """The copy of the campaign's bundle, if one is wanted."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...

    def machine(self) -> MachineLimits | None:
        """What its machine has, where it is this one: a plan then says what is beyond it, and a
        budget leaves out what it does not hold."""

    def host(self) -> HostKind:
        """The kind of host that trials get there."""

    def machine_time_s(self, make: Callable[[float | None], Plan], budget_s: float) -> float:
        """The machine time of the blocks that fit into the time `budget_s`; `make` plans with a
        budget. Asked where the machine is another."""

    def check(self, plan: Plan, workers: Mapping[str, Worker]) -> None:
        """Raises UserError where the plan cannot be run there."""

    def lacking(
        self, cells: Sequence[Cell], workers: Mapping[str, Worker], kind: HostKind
    ) -> dict[int, str]:
        """As `rmwbench.campaign.plan.unsupported.here`, of every machine that trials may run on;
        after `check`."""

    def rehearse(
        self, cells: Sequence[Cell], workers: Mapping[str, Worker], places: Places
    ) -> dict[int, str]:
        """Does what `rmwbench.campaign.plan.rehearse` says."""

    def describe(self) -> dict[str, Any]:
        """The machine card."""

    def kernels(self) -> Kernels:
        """What the kernels that its trials run on grant."""

    def calibration(self) -> dict[str, Any]:
        """What campaign.json keeps of the newest calibration of the machine that trials run on;
        empty where there is none."""

    def document(self) -> dict[str, Any]:
        """What campaign.json says of it besides."""

    def idle(self) -> list[str]:
        """The machines that could run a trial now."""

    def start(self, machine: str, name: str, order: Order, workers: Mapping[str, Worker]) -> None:
        """A trial of the campaign `name` on an idle machine."""

    def wait(self, signals: StopSignals) -> list[TrialEnd]:
        """What has ended, perhaps nothing yet. Raises Stopped."""

    def running(self) -> list[Order]:
        """The trials under way."""

    def measures_here(self) -> bool:
        """Whether a trial runs on this machine now, so that nothing else should."""

    def fetch(self, ends: Sequence[TrialEnd]) -> list[TrialResult]:
        """Raises ResultsLost."""

    def write_machines(self, writer: BundleWriter, card: MachineDocument, *, at_end: bool) -> None:
        """The table `machine`, as the campaign begins and as it ends."""


class Here:
    """This machine, which runs one trial at a time. The next trial's host is started by `start`,
    before the last one's tables are written; the trial itself runs in `wait`."""

    copy = None

    def __init__(self) -> None:
        self._next: tuple[Order, Mapping[str, Worker]] | None = None
        self._hosts: Hosts | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._close_hosts()

    def machine(self) -> MachineLimits | None:
        return MachineLimits.here()

    def host(self) -> HostKind:
        return host_kind()

    def machine_time_s(self, make: Callable[[float | None], Plan], budget_s: float) -> float:
        return budget_s

    def check(self, plan: Plan, workers: Mapping[str, Worker]) -> None:
        preflight.check_memory(plan)
        check().close()

    def lacking(
        self, cells: Sequence[Cell], workers: Mapping[str, Worker], kind: HostKind
    ) -> dict[int, str]:
        return unsupported.here(cells, workers, kind)

    def rehearse(
        self, cells: Sequence[Cell], workers: Mapping[str, Worker], places: Places
    ) -> dict[int, str]:
        return rehearse(cells, workers, places)

    def describe(self) -> dict[str, Any]:
        return machine.describe()

    def kernels(self) -> Kernels:
        return Kernels(Kernel(machine_card.sysctls()))

    def calibration(self) -> dict[str, Any]:
        return calibrations.for_campaign(machine.describe())

    def document(self) -> dict[str, Any]:
        return {}

    def idle(self) -> list[str]:
        return [] if self._next else [""]

    def start(self, machine: str, name: str, order: Order, workers: Mapping[str, Worker]) -> None:
        self._next = order, workers
        self._hosts = hosts_ahead(f"{name}/{order.trial}", order.cell)

    def wait(self, signals: StopSignals) -> list[TrialEnd]:
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
        return [self._next[0]] if self._next else []

    def measures_here(self) -> bool:
        return False  # it does so in `wait` only

    def fetch(self, ends: Sequence[TrialEnd]) -> list[TrialResult]:
        return [end.result for end in ends]

    def write_machines(self, writer: BundleWriter, card: MachineDocument, *, at_end: bool) -> None:
        if at_end:
            writer.write_whole_campaign({"machine": machine_table(card, machine.state())})

    def _close_hosts(self) -> None:
        if self._hosts is not None:
            self._hosts.close()
            self._hosts = None
