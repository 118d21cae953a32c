"""Does my robot still work with the installed software? A check runs a suite with limits, judges
each candidate by the limits as `rmwbench show` does, and compares the campaign with the last check
of this suite on this machine as `rmwbench compare` does.

Input: a campaign, and that of the last check; output: `check_document.RobotCheck` and its view. The
only new result is the time that would decide an open candidate.
"""
