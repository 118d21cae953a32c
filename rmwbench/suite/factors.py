"""Factors: axes of a suite that override a field of every workload or arm, crossed in full.

A factor has the name of the field that it overrides; `options.NAME` and `modes.NAME` are an option
and a mode of the arms, `graph.NAME`, `bring_up.NAME` and `recorder.NAME` a field of that part of a
workload, `network.NAME` a field of every link in both directions. The fields that distinguish arms
(middleware, profile) are not factors: arms are compared within a combination of levels, never
across.
"""

from itertools import product
from typing import get_args

from rmwbench.suite.arm import MODE_PREFIX, MODES, Arm
from rmwbench.suite.fault import Fault, Strict, unknown
from rmwbench.suite.network.network import LINK_FACTORS, NETWORK_PREFIX, Network
from rmwbench.suite.workload.qos import Qos
from rmwbench.suite.workload.workload import Beside, Workload

NO_FACTORS = {
    *("name", "title", "description", "primary_metric", "against", "focus"),
    *("nodes", "hosts", "relays_host", "background_hosts", "daemons_host", "overload"),
    *("arrival", "qos", "graph", "bring_up", "timeline", "beside"),
}
"""The keys of a workload that are not factors: its names, metric and comparison, lists, and parts
with keys of their own."""


def _model_of(model: type[Strict], name: str) -> type[Strict] | None:
    """The model of a key's value; None for a scalar value."""
    kinds = get_args(model.model_fields[name].annotation)
    return next((k for k in kinds if isinstance(k, type) and issubclass(k, Strict)), None)


PARTS: dict[str, type[Strict]] = {
    name: part
    for model, names in ((Workload, ("graph", "bring_up")), (Beside, Beside.model_fields))
    for name in names
    if (part := _model_of(model, name)) is not None
}
"""Parts of a workload whose fields are factors too."""
WORKLOAD_FACTORS = (
    *(name for name in Workload.model_fields if name not in NO_FACTORS),
    *(name for name in Beside.model_fields if name not in PARTS),
)
QOS_FACTORS = ("reliability", "durability", "history", "depth")
ARM_FACTORS = ("wait", "loan", "publish_mode", "take")
OPTION_PREFIX = "options."
PART_FACTORS = tuple(
    f"{part}.{name}" for part, model in PARTS.items() for name in model.model_fields
)
MODE_FACTORS = tuple(MODE_PREFIX + name for name in MODES)
NETWORK_FACTORS = tuple(NETWORK_PREFIX + name for name in LINK_FACTORS)

Level = str | int | float | bool
Levels = dict[str, Level]


def check_factor_name(name: str) -> None:
    """Raises Fault for a factor that overrides nothing."""
    factors = [*WORKLOAD_FACTORS, *QOS_FACTORS, *ARM_FACTORS, *MODE_FACTORS, *PART_FACTORS]
    factors += NETWORK_FACTORS
    if name == "payload":  # a likely mistake, and no factor has a similar name to suggest
        raise Fault(
            "unknown factor `payload`",
            expected="`message`, with levels such as Bytes(4096)",
            at=(name,),
        )
    if name not in factors and not (
        name.startswith(OPTION_PREFIX) and len(name) > len(OPTION_PREFIX)
    ):
        raise unknown("factor", name, [*factors, OPTION_PREFIX + "NAME"], at=(name,))


def combinations(factors: dict[str, tuple[Level, ...]]) -> list[Levels]:
    """Every combination of levels, the last factor fastest; without factors one empty
    combination."""
    return [dict(zip(factors, levels, strict=True)) for levels in product(*factors.values())]


def with_workload_level(workload: Workload, factor: str, level: Level) -> Workload:
    """The workload with one level applied, validated again; unchanged for a factor that concerns
    arms."""
    if factor in QOS_FACTORS:
        return workload.changed({"qos": _with_qos(workload.qos, factor, level)})
    arrival = workload.arrival
    if factor == "rate_hz" and arrival is not None and hasattr(arrival, "rate_hz"):
        settings = arrival.model_dump(by_alias=True, exclude_unset=True)
        return workload.changed({"arrival": settings | {"rate_hz": level}})
    if factor == "network" and len(workload.host_names) < 2:
        # a single host has no network; `cells` refuses a factor that leaves the cell as it was
        return workload
    if factor in WORKLOAD_FACTORS:
        return workload.changed({factor: level})
    part, _, name = factor.partition(".")
    if factor in PART_FACTORS and (model := workload.set_values().get(part)) is not None:
        return workload.changed({part: model.changed({name: level})})
    return workload


def with_network_level(network: Network, factor: str, level: Level) -> Network:
    """The network with one level applied to every link in both directions, validated again;
    unchanged for any other factor."""
    if factor not in NETWORK_FACTORS:
        return network
    return network.with_level(factor.removeprefix(NETWORK_PREFIX), level)


def with_arm_level(arm: Arm, factor: str, level: Level) -> Arm:
    """The arm with one level applied, validated again; unchanged for a factor that concerns
    workloads."""
    if factor in ARM_FACTORS:
        return arm.changed({factor: level})
    if factor.startswith(OPTION_PREFIX):
        return arm.changed({"options": {**arm.options, factor.removeprefix(OPTION_PREFIX): level}})
    if factor in MODE_FACTORS:
        mode = {factor.removeprefix(MODE_PREFIX): level}
        processes = {  # modes are common to all middlewares, so a level is for every side
            key: side if side.modes is None else side.changed({"modes": side.modes | mode})
            for key, side in arm.processes.items()
        }
        return arm.changed(
            {"modes": arm.modes | mode} | ({"processes": processes} if processes else {})
        )
    return arm


def _with_qos(qos: Qos, factor: str, level: Level) -> Qos:
    settings = qos.set_values() | {factor: level}
    if factor == "history" and level == "keep_all":
        # the level replaces the whole history, of which the depth was a part
        settings.pop("depth", None)
    return Qos.model_validate(settings)
