"""A claims file of one claim, as tests ask it."""

from rmwbench.published.claims.claims_file import Claims


def one_claim(about, test):
    """`about`: the keys of the file besides its items; `test`: those of the claim's test."""
    claim = {
        "id": "c",
        "heading": "h",
        "says": "x",
        "kind": "comparison",
        "published": {"verdict": "supported", "why": "y"},
        "test": test,
    }
    return Claims.model_validate({**about, "items": [claim]})
