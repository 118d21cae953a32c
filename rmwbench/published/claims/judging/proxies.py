"""The differences between a campaign and the original: layer, versions, machine, lengths and
conditions. Pure."""

from collections.abc import Mapping, Sequence

from rmwbench.published.campaign import CampaignArm, MeasuredCampaign
from rmwbench.published.claims.claims_file import Claim, Claims, Conditions
from rmwbench.published.claims.judging.campaign_answers import (
    CellAnswer,
    ConditionCounts,
    TrialLength,
)

LEAST_LENGTH_RATIO = 0.9
"""A trial that has this part of the original's length counts as equally long."""


def trial_length(
    claims: Claims, claim: Claim, campaigns: Sequence[MeasuredCampaign], cells: Sequence[CellAnswer]
) -> TrialLength:
    suites = {test.suite for test in claim.tests}
    original_s = max(
        (claims.lasts_s[name] for name in suites if name in claims.lasts_s), default=None
    )
    places = {name for c in cells if c.answer != "no data" for name in (c.left_in, c.right_in)}
    lengths_s = [
        workload.steady_s
        for campaign in campaigns
        for workload in campaign.workloads
        if workload.workload in places
    ]
    shortest_s = min((length_s for length_s in lengths_s if length_s is not None), default=None)
    if None in lengths_s and original_s is not None and not _is_shorter(shortest_s, original_s):
        shortest_s = None
    return TrialLength(shortest_s, original_s)


def _is_shorter(measured_s: float | None, original_s: float | None) -> bool:
    return (
        measured_s is not None
        and original_s is not None
        and measured_s < LEAST_LENGTH_RATIO * original_s
    )


def condition_counts(claim: Claim, cells: Sequence[CellAnswer]) -> ConditionCounts:
    """Count the measured conditions, and the conditions that the claim speaks of: as many as it
    says, or as its tests have."""
    with_data = [cell for cell in cells if cell.answer != "no data"]
    workloads = {name for cell in with_data for name in (cell.left_in, cell.right_in) if name}
    measured = len(workloads)
    tested = max((test.cells.of for test in claim.tests if test.cells), default=measured)
    return ConditionCounts(measured, max(claim.speaks_of or tested, measured))


def shortfalls(length: TrialLength, counts: ConditionCounts) -> dict[str, str]:
    """Return code -> text of what was measured less than the statement speaks of."""
    texts = {}
    measured_s, original_s = length.measured_s, length.of_s
    if _is_shorter(measured_s, original_s):
        texts["length"] = f"a trial of {measured_s:g} s for one of {original_s:g} s"
    elif measured_s is None and original_s is not None and counts.measured:
        texts["length"] = f"a trial whose length was not kept for one of {original_s:g} s"
    if counts.measured < counts.of:
        texts["conditions"] = f"{counts.measured} of the {counts.of} conditions it speaks of"
    return texts


def differences(
    claims: Claims,
    claim: Claim,
    layer: str,
    used: Mapping[str, tuple[CampaignArm, MeasuredCampaign]],
) -> dict[str, str]:
    """Return code -> why the answer is no answer to the original: conditions that the source states
    and these campaigns do not have."""
    conditions, texts = claims.conditions, {}
    own = claims.layer_of(claim)
    if layer != own:
        texts["layer"] = f"the claim speaks of the {own} layer"
    ros_arms = [arm for arm, _ in used.values() if arm.layer in ("rclcpp", "rclpy")]
    if not ros_arms or not all(_is_of_version(conditions, arm) for arm in ros_arms):
        versions = ", ".join(claims.versions) or "versions of its time"
        texts["version"] = f"the claim speaks of {versions}"
    touch = claims.touch_of(claim)
    if touch is not None and any(arm.touch not in (None, touch) for arm, _ in used.values()):
        texts["touch"] = f"there the payload was touched: {touch}"
    if any(not is_of_class(conditions, campaign) for _, campaign in used.values()):
        texts["machine"] = f"the claim speaks of {class_text(conditions)}"
    return texts


def _is_of_version(conditions: Conditions, arm: CampaignArm) -> bool:
    """Whether the arm's version is within the conditions. The first word of a version at the rclcpp
    layer is that of rclcpp, which differs between distributions."""
    if conditions.rclcpp is None:
        return False
    first, below = (_numbers(part) for part in conditions.rclcpp)
    versions = [_numbers(part.partition(" ")[0]) for part in str(arm.version).split(" + ")]
    return all(first <= version < below for version in versions)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def is_of_class(conditions: Conditions, campaign: MeasuredCampaign) -> bool:
    """Whether the campaign's machine is of the original's class, as far as the source says. A
    campaign that does not say its machine is of no class."""
    if conditions.processors is not None:
        cores = (campaign.fact("cores") or "").split()
        if not cores or not cores[0].isdigit() or int(cores[0]) < conditions.processors:
            return False
    virtualization = campaign.fact("virtualization")
    return conditions.virtual is None or (
        virtualization is not None and conditions.virtual == ("hypervisor" in virtualization)
    )


def class_text(conditions: Conditions) -> str:
    kinds = {True: "a virtual machine", False: "no virtual machine", None: ""}
    processors = f"{conditions.processors} processors or more" if conditions.processors else ""
    return " and ".join(filter(None, (processors, kinds[conditions.virtual])))
