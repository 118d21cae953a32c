"""What a process that was killed had in its hands, by its own records, which outlive it.

A message that was taken has a record before its consumer keeps it (`hold_ms`), and the record has
no time of consumption until it is given back: what a killed reader leaves so, it held when it died,
its memory included.
"""

import numpy as np

from rmwbench.campaign.trial.noting import note_flag
from rmwbench.campaign.trial.outcome import TrialOutcome
from rmwbench.codes import Code, Reason
from rmwbench.lab.process.records import RECEIVED

KILLED = "killed_s"
"""What an event `killed` says of a worker; of a daemon it is `daemons_end_s`."""


def tell_held(outcome: TrialOutcome) -> None:
    """Adds to each worker's event `killed` how many messages it held. One that was to hold some and
    held none is a flag: its trial says nothing about what becomes of them."""
    cell = outcome.order.cell
    for event in [e for e in outcome.events if e["event"] == "killed" and e.get("text") == KILLED]:
        mine = {e.endpoint: e for e in cell.endpoints if e.process == event["process"]}
        held = sum(
            int(np.count_nonzero(section.rows["consumed_ns"] == 0))
            for section in outcome.sections
            if section.kind == RECEIVED and section.endpoint in mine
        )
        if any(e.hold_ns for e in mine.values()):
            event["text"] = f"{KILLED} while holding {held} message{'' if held == 1 else 's'}"
            if not held:
                text = (
                    f"killed: {event['process']} held no message at that moment, though its "
                    "consumer keeps each"
                )
                note_flag(outcome, Reason(Code.KILLED, text), event["time_ns"], event["process"])
