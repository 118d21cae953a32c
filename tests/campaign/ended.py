"""How a trial ended, for tests of what it recorded."""


def well(result) -> bool:
    """Done, or void for the machine's sake alone: one that others keep busy, and what is recorded
    is there all the same."""
    assert result.status == "done" or result.cause == "machine", (result.status, result.reason)
    return True


def heard_in_window(result) -> bool:
    """Whether a message was taken in the steady state. Not where a busy machine halted the workers
    for as long, and then there is nothing of which a path or a rate could be told."""
    (trial,) = result.tables["trials"].to_pylist()
    begin_ns, end_ns = trial["steady_begin_ns"], trial["steady_end_ns"]
    return any(
        begin_ns <= row["taken_ns"] < end_ns for row in result.tables["received"].to_pylist()
    )
