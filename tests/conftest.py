"""No test reads or leaves anything in the user's state directory: a calibration found there would change reports."""

import os
import tempfile

_STATE = tempfile.TemporaryDirectory(prefix="rmwbench-tests-state-")
os.environ["XDG_STATE_HOME"] = _STATE.name
