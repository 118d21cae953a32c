"""The ledger of all sources with what ships of each, which takes seconds, once for a test process."""

import pytest

from rmwbench.published.claims.claims_ledger import ledger
from rmwbench.published.claims.summary import shipped_of
from tests.published.claims.shipped import FILES


@pytest.fixture(scope="session")
def campaigns():
    """Source -> its shipped campaigns."""
    return shipped_of(list(FILES.values()))


@pytest.fixture(scope="session")
def whole(campaigns):
    return ledger(list(FILES.values()), shipped=campaigns)
