"""The shipped documents: facts with their days about the projects that a committee asks about,
without anybody's name."""

import json
import re

import pytest

from rmwbench.cli.published.committee_report import _community_parts
from rmwbench.errors import UserError
from rmwbench.published.committee.evaluation_session import begin
from rmwbench.published.community.community_views import SHIPPED, shipped, view_of
from rmwbench.suite.file.candidate_list import NO_CHOICE
from tests.support.views import texts


@pytest.fixture(scope="module")
def github():
    return json.loads((SHIPPED / "github.json").read_text())


def test_what_git_does_not_hold_is_never_a_number(github):
    for repository in github["repositories"]:
        assert repository["pulls"] == repository["issues"] == {"no_data": "git does not hold it"}
        assert {repository["facts"][fact]["no_data"] for fact in ("stars", "forks")} == {
            "git does not hold it"
        }


def test_a_declaration_or_the_day_on_which_none_was_found():
    doc = json.loads((SHIPPED / "rep2004.json").read_text())
    packages = " ".join(p["package"] for p in doc["packages"])
    assert all(
        name in packages
        for name in ("rmw_cyclonedds_cpp", "rmw_fastrtps_cpp", "rmw_zenoh_cpp", "Fast DDS")
    )
    absent = {one["repository"]: one for one in doc["searched"]}
    for name in ("eclipse-zenoh/zenoh", "eclipse-iceoryx/iceoryx2"):
        assert absent[name]["found"] == []
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", absent[name]["as_of"])
    assert all(item["quote"] is None for p in doc["packages"] for item in p["items"])


def test_a_document_that_lacks_a_requirement_is_refused(tmp_path):
    doc = json.loads((SHIPPED / "rep2004.json").read_text())
    doc["packages"][0]["items"].pop()
    path = tmp_path / "rep2004.json"
    path.write_text(json.dumps(doc))
    with pytest.raises(UserError, match="this is not a document of"):
        view_of(path)


def test_a_committees_report_has_them_until_others_are_given(tmp_path):
    session = begin(tmp_path / "tsc", "tsc", [], {}, seed=7, budget_s=600.0, choice=NO_CHOICE)

    def answers():
        return {one.title: one.view for one in _community_parts(session)}["How the projects answer"]

    shown = answers()
    assert shown is not None
    told = texts(shown.about)[-1]
    assert "Shipped with rmwbench" in told
    assert "`rmwbench published community github OWNER/NAME… --json`" in told
    assert str(session.directory / "community" / "github.json") in told
    assert any("is not 0" in text for text in texts(shown.sections[:1]))
    own = session.directory / "community" / "github.json"
    own.parent.mkdir()
    doc = json.loads(shipped("github").read_text())
    own.write_text(json.dumps({**doc, "repositories": doc["repositories"][:1]}))
    assert answers().about == view_of(own).about and len(answers().about) == 1
