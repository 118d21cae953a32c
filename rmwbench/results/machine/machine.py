"""The machine of a campaign, as every answer shows it."""

from rmwbench.bundle import Bundle
from rmwbench.results.machine.calibration_document import calibration
from rmwbench.results.machine.machine_model import Machine
from rmwbench.results.model import Fact


def machine(bundle: Bundle) -> Machine:
    found = bundle.campaign.machine
    machines = len((bundle.campaign.cluster or {}).get("machines") or ()) or 1
    calibrated, warnings = calibration(found, bundle.campaign.created_utc, machines)
    return Machine(
        summary=found.summary or "machine not described",
        facts=tuple(
            Fact(name=one.name, value=str(one.value), note=one.note) for one in found.facts
        ),
        warnings=(*found.warnings, *warnings),
        calibration=calibrated,
    )
