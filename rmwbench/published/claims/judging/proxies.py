"""In what a campaign is another than the original: its layer, versions, machine, lengths and
conditions. Pure."""

from collections.abc import Mapping, Sequence

from rmwbench.published.campaign import CampaignArm, MeasuredCampaign
from rmwbench.published.claims.claims_file import Claim, Claims, Conditions
from rmwbench.published.claims.judging.today import CellAnswer, Counted, Length

AS_LONG = 0.9
"""A trial of so much of the original's length is as long."""


def length_of(
    claims: Claims, claim: Claim, campaigns: Sequence[MeasuredCampaign], cells: Sequence[CellAnswer]
) -> Length:
    suites = {test.suite for test in claim.tests}
    of_s = max((claims.lasts_s[name] for name in suites if name in claims.lasts_s), default=None)
    places = {name for c in cells if c.answer != "no data" for name in (c.left_in, c.right_in)}
    lengths_s = [
        item.steady_s
        for campaign in campaigns
        for item in campaign.workloads
        if item.workload in places
    ]
    shortest_s = min((length_s for length_s in lengths_s if length_s is not None), default=None)
    if None in lengths_s and of_s is not None and not _shorter(shortest_s, of_s):
        shortest_s = None
    return Length(shortest_s, of_s)


def _shorter(measured_s: float | None, of_s: float | None) -> bool:
    return measured_s is not None and of_s is not None and measured_s < AS_LONG * of_s


def conditions_of(claim: Claim, cells: Sequence[CellAnswer]) -> Counted:
    """Counts the conditions that its tests ask for, or as many as the claim says that it speaks
    of."""
    measured = [cell for cell in cells if cell.answer != "no data"]
    here = {name for cell in measured for name in (cell.left_in, cell.right_in) if name}
    asked = max((test.cells.of for test in claim.tests if test.cells), default=len(here))
    return Counted(len(here), max(claim.speaks_of or asked, len(here)))


def lacking(length: Length, counted: Counted) -> dict[str, str]:
    """Codes of what was measured less than the statement speaks of."""
    texts = {}
    measured_s, of_s = length.measured_s, length.of_s
    if _shorter(measured_s, of_s):
        texts["length"] = f"a trial of {measured_s:g} s for one of {of_s:g} s"
    elif measured_s is None and of_s is not None and counted.measured:
        texts["length"] = f"a trial whose length was not kept for one of {of_s:g} s"
    if counted.measured < counted.of:
        texts["conditions"] = f"{counted.measured} of the {counted.of} conditions it speaks of"
    return texts


def reasons(
    claims: Claims,
    claim: Claim,
    layer: str,
    used: Mapping[str, tuple[CampaignArm, MeasuredCampaign]],
) -> dict[str, str]:
    """Code -> why the answer is none to the original: what the source says of its own conditions,
    and these campaigns do not have."""
    conditions, texts = claims.conditions, {}
    own = claims.layer_of(claim)
    if layer != own:
        texts["layer"] = f"the claim speaks of the {own} layer"
    of_ros = [arm for arm, _ in used.values() if arm.layer in ("rclcpp", "rclpy")]
    if not of_ros or not all(_version_is(conditions, arm) for arm in of_ros):
        texts["version"] = (
            f"the claim speaks of {', '.join(claims.versions) or 'versions of its time'}"
        )
    touch = claims.touch_of(claim)
    if touch is not None and any(arm.touch not in (None, touch) for arm, _ in used.values()):
        texts["touch"] = f"there the payload was touched: {touch}"
    if any(not of_class(conditions, campaign) for _, campaign in used.values()):
        texts["machine"] = f"the claim speaks of {class_text(conditions)}"
    return texts


def _version_is(conditions: Conditions, arm: CampaignArm) -> bool:
    """The first word of a version at the rclcpp layer is that of rclcpp, of which each distribution
    has its own."""
    if conditions.rclcpp is None:
        return False
    first, below = (_numbers(part) for part in conditions.rclcpp)
    versions = [_numbers(part.split()[0]) for part in str(arm.version).split(" + ")]
    return all(first <= version < below for version in versions)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def of_class(conditions: Conditions, campaign: MeasuredCampaign) -> bool:
    """Whether the campaign's machine is of the original's class, as far as the source says. What
    does not say its machine is of none."""
    if conditions.processors is not None:
        cores = (campaign.fact("cores") or "").split()
        if not cores or not cores[0].isdigit() or int(cores[0]) < conditions.processors:
            return False
    signs = campaign.fact("virtualization")
    return conditions.virtual is None or (
        signs is not None and conditions.virtual == ("hypervisor" in signs)
    )


def class_text(conditions: Conditions) -> str:
    words = [f"{conditions.processors} processors or more" if conditions.processors else ""]
    words.append(
        {True: "a virtual machine", False: "no virtual machine", None: ""}[conditions.virtual]
    )
    return " and ".join(filter(None, words))
