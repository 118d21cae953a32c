"""What becomes of a trial that a noisy machine spoilt, as its user says: void, or kept with a
flag."""

import os

from rmwbench.errors import UserError

SPOILT = "RMWBENCH_SPOILT"
KEEP = "keep"
TOLD = f"trials that a noisy machine spoilt are kept, with a flag ({SPOILT}={KEEP})"


def keeps_spoilt() -> bool:
    """Whether a trial that a noisy machine spoilt is kept, and flagged: the user's choice where it
    is never quiet. Raises UserError for a value of the variable that says nothing."""
    asked = os.environ.get(SPOILT) or None
    if asked not in (None, KEEP):
        raise UserError(
            f"{SPOILT} does not say what becomes of spoilt trials",
            where=SPOILT,
            expected=f"{KEEP}, or nothing",
            actual=asked,
            fix=f"set it to {KEEP}, or unset it",
        )
    return asked == KEEP
