"""What every test process begins with: a state directory of its own, because a calibration found in the user's would
change reports, and Ctrl-C as in a terminal, because what a background shell starts ignores it and hands that on."""

import os
import signal
import tempfile

_STATE = tempfile.TemporaryDirectory(prefix="rmwbench-tests-state-")
os.environ["XDG_STATE_HOME"] = _STATE.name

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
