"""How a trial ended, for tests of what it recorded."""


def well(result) -> bool:
    """Done, or void for the machine's sake alone: one that others keep busy, and what is recorded is there all the
    same."""
    assert result.status == "done" or result.cause == "machine", (result.status, result.reason)
    return True
