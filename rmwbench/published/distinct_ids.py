"""The check that no two entries of a published source's file have the same id."""

from collections.abc import Iterable

from rmwbench.suite.fault import Fault, first_repeated


def require_distinct_ids(noun: str, ids: Iterable[tuple[int, str]], key: str = "items") -> None:
    """Raise Fault if two entries have the same id. `ids`: (place in the list `key`, id) of each
    entry; `noun`: what the entries are, in the plural."""
    if (repeated := first_repeated(ids)) is not None:
        place, id_ = repeated
        what = f"two {noun} have the id `{id_}`"
        raise Fault(what, expected="an id each", at=(key, place, "id"))
