"""The campaign that a file's tests are about."""

import pytest

from tests.selfproof import proof


@pytest.fixture(scope="module")
def campaign(request, tmp_path_factory):
    """Of the suite that is called as the file is, without its `test_`."""
    name = request.path.stem.removeprefix("test_")
    return proof.run(name, tmp_path_factory.mktemp(name))
