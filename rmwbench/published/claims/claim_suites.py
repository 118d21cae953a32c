"""The suites of a source: those that its claims test, wherever they lie, and the others of its
folder."""

from rmwbench.published.about import is_suite
from rmwbench.published.campaign import MeasuredCampaign
from rmwbench.published.claims.claims_file import Claims
from rmwbench.suite.file.places import shipped_suites, source_directory, suite_file


def untested(source: Claims) -> list[str]:
    """The suites of its folder that none of its claims tests, by name."""
    folder, tested = source_directory(source.claims), _tested(source)
    return [
        name
        for name in shipped_suites()
        if name not in tested and suite_file(name).parent == folder
    ]


def is_of(source: Claims, campaign: MeasuredCampaign) -> bool:
    """Whether the campaign ran a suite of this source. One that no claim tests is known by its
    whole name, which has the source in it: `wifi` is another suite than `galactic-2020/wifi`."""
    suite = str(campaign.suite)
    whole = (name.replace("/", "-") for name in untested(source))
    return any(is_suite(name, suite) for name in _tested(source)) or suite in whole


def _tested(source: Claims) -> set[str]:
    return {test.suite for claim in source.items for test in claim.tests}
