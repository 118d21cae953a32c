"""Does my robot still work, with what is installed today? A suite with limits is run, each candidate
is judged by the limits as `rmwbench show` does, and what changed since the last check of this
suite on this machine is what `rmwbench compare` says of the two campaigns.

Input: a campaign, and the one of the last check; output: `check_model.RobotCheck` and its view. It
computes nothing of its own but what more time would buy.
"""
