"""The campaign that a file's tests are about."""

import pytest

from tests.selfproof import proof


@pytest.fixture(scope="module")
def campaign(request, tmp_path_factory):
    """Run the suite with the name of the test's file, without its `test_`."""
    name = request.path.stem.removeprefix("test_")
    return proof.run(name, tmp_path_factory.mktemp(name))
