"""The ledger of all sources with the shipped campaigns of each. It takes seconds, so a test process
makes it once."""

import pytest

from rmwbench.published.claims.claims_ledger import ledger
from rmwbench.published.claims.summary import shipped_of
from tests.published.claims.shipped import FILES


@pytest.fixture(scope="session")
def campaigns():
    """The shipped campaigns of each source."""
    return shipped_of(list(FILES.values()))


@pytest.fixture(scope="session")
def whole(campaigns):
    return ledger(list(FILES.values()), shipped=campaigns)
