"""Activity from a git history alone: counts of a repository whose every commit is known, and what
git cannot say."""

import json
from datetime import timedelta

import pytest

from rmwbench.errors import UserError
from rmwbench.published.community.github import engagement_view as show
from rmwbench.published.community.github import history
from rmwbench.published.community.github.engagement import measure
from rmwbench.published.community.github.project import is_bot_name
from tests.published.community.git_repository import ANN, BOB, BOT, WEB, Git, lines
from tests.published.community.test_github import document, run
from tests.support.program import script
from tests.support.views import texts

EVE = ("E\x1b[31mve\x07 Malory", "eve@example.org")


@pytest.fixture
def git(tmp_path):
    return Git(tmp_path / "r")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """From 2024-04-21 to 2024-06-20 (60 days): five commits, one of them a merge, one of a bot; 18
    lines."""
    git = Git(tmp_path_factory.mktemp("git") / "wheels")
    first = git.commit("2024-01-01", text=lines(3, "a"))
    git("tag", "v0.9")
    second = git.commit("2024-05-01", text=lines(2, "b"), by=BOB, through=ANN)
    git.commit("2024-05-10", "lock", lines(10, "c"), by=BOT, through=WEB)
    git("checkout", "-q", "-b", "work", second)
    git.commit("2024-05-12", "new.c", lines(4, "d"), by=(BOB[0], "bob@home.example"))
    git("checkout", "-q", "main")
    git("merge", "-q", "--no-ff", "-m", "merge", "work", at="2024-05-20")
    (git.path / "new.c").write_text("d 0\nd 1\nd 2\nother\n")
    git("commit", "-q", "-a", "-m", "x", at="2024-06-20", by=EVE, through=ANN)
    git("tag", "1.1rc1")
    git("tag", "nightly")
    git("tag", "-a", "-m", "told", "v1.0", first, at="2024-06-01")
    git("branch", "mirror")
    git("checkout", "-q", "-b", "apart")
    git.commit("2024-06-25", "apart.c", lines(100, "e"))
    git("checkout", "-q", "main")
    return git


def read(path, days=60):
    return history.load("acme/wheels", path, timedelta(days=days))


def measured(path, days=60, **options):
    return document([read(path, days)], **options)["repositories"][0]


def values(repository):
    return {name: fact["value"] for name, fact in repository["facts"].items() if "value" in fact}


def test_the_counts(wheels):
    repository = measured(wheels.path)
    assert (repository["since"][:10], repository["until"][:10]) == ("2024-04-21", "2024-06-20")
    assert repository["days"] == 60.0
    assert values(repository) == {
        "commits": 5,
        "authors": 3,  # Bob has two addresses and one name
        "committers": 2,  # Ann, and Bob by his other address; the pages of GitHub are nobody
        "contributors": 3,
        "lines_changed": 18,
        "releases": 2,
        "releases_ever": 3,
    }
    commits = repository["facts"]["commits"]
    assert (commits["merges"], commits["bots"]) == (1, 1)
    assert repository["facts"]["releases_ever"]["latest"].startswith("2024-06-20")
    head = wheels("rev-parse", "main")
    assert repository["history"] == {
        "branch": "main",
        "commit": head,
        "undated": 0,
        "other_tags": 1,
    }


def test_without_bots(wheels):
    repository = measured(wheels.path, people_only=True)
    assert values(repository)["commits"] == 4 and values(repository)["lines_changed"] == 8
    assert repository["facts"]["commits"]["bots"] == 0
    assert repository["facts"]["commits"]["bots_left_out"] == 1


def test_what_git_does_not_hold_is_no_data(wheels):
    repository = measured(wheels.path)
    assert repository["pulls"] == repository["issues"] == {"no_data": "git does not hold it"}
    for fact in ("stars", "forks", "watchers"):
        assert repository["facts"][fact] == {"no_data": "git does not hold it"}
    assert "no_data" in repository["facts"]["licence"]
    assert "no_data" in repository["facts"]["code_size"]


def test_names_are_counted_and_not_kept(wheels):
    text = json.dumps(measured(wheels.path))
    assert not any(
        word in text
        for word in ("Malory", "Bob", "Ann", "dependabot", "example.org", "private", "[31m")
    )
    assert str(wheels.path) not in text


def test_a_shallow_clone_is_refused(wheels, tmp_path):
    wheels("clone", "-q", "--depth", "2", wheels.path.as_uri(), str(tmp_path / "cut"))
    with pytest.raises(UserError, match="shallow") as error:
        read(tmp_path / "cut")
    assert "--unshallow" in error.value.render()


def test_a_partial_clone_fetches_nothing_and_has_no_lines(wheels, tmp_path):
    """Its files are on a server, and a question about them must not start a program that
    fetches."""
    wheels("config", "uploadpack.allowFilter", "true")
    wheels(
        "clone",
        "-q",
        "--no-checkout",
        "--filter=blob:none",
        wheels.path.as_uri(),
        str(tmp_path / "part"),
    )
    repository = measured(tmp_path / "part")
    assert repository["facts"]["commits"]["value"] == 5
    assert "files are missing here" in repository["facts"]["lines_changed"]["no_data"]


def test_programs_that_a_repository_configures_are_not_run(git, tmp_path):
    git.commit("2024-05-01")
    signed = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n AAAA\n -----END PGP SIGNATURE-----\n\n"
    head, _, message = git("cat-file", "commit", "HEAD").partition("\n\n")
    commit = git(
        "hash-object", "-t", "commit", "-w", "--stdin", given=f"{head}\n{signed}{message}\n"
    )
    git("update-ref", "refs/heads/main", commit)
    ran = tmp_path / "ran"
    program = script(tmp_path / "program", f"touch {ran}")
    for name, value in (
        ("log.showSignature", "true"),
        ("gpg.program", program),
        ("diff.external", program),
    ):
        git("config", name, str(value))
    git("log", "-1")
    assert ran.exists()  # git alone would run it
    ran.unlink()
    assert values(measured(git.path, 10))["commits"] == 1
    assert not ran.exists()


def test_commits_of_the_future_are_in_no_window_and_said(git):
    git.commit("2024-05-01")
    git.commit("2024-05-03")
    git.commit("2090-01-01")
    repository = measured(git.path, 10)
    assert repository["until"].startswith("2024-05-03") and values(repository)["commits"] == 2
    assert repository["history"]["undated"] == 1
    view = show.view(measure([read(git.path, 10)]))
    assert any(
        "1 commit without a date in the past, in no window" in text
        for text in texts(view.sections[:1])
    )


def test_without_tags_releases_are_no_data_and_not_none(git):
    git.commit("2024-05-01")
    facts = measured(git.path, 10)["facts"]
    assert "no tags here" in facts["releases"]["no_data"] and "no_data" in facts["releases_ever"]
    git("tag", "skeleton")
    assert values(measured(git.path, 10))["releases"] == 0


@pytest.mark.parametrize(
    ("tag", "version"),
    [
        *((tag, True) for tag in ("1.2", "v1.2.3", "V0.5.0rc1", "release-2.0.1", "v1.0.0.a")),
        ("0.5.0-beta.8-M4", True),
        *((tag, False) for tag in ("nightly", "XTYPES_v1", "2024", "v1", "1.2/x", "")),
        ("foxy-1.2-branch", False),
    ],
)
def test_which_tags_are_releases(tag, version):
    assert bool(history.VERSION.fullmatch(tag)) is version


@pytest.mark.parametrize(
    ("name", "bot"),
    [
        *(
            (name, True)
            for name in ("dependabot[bot]", "eclipse-zenoh-bot", "49+x-bot", "Renovate App [bot]")
        ),
        *(
            (name, False)
            for name in ("Jan Bot", "abbot", "bot-builder", "Talbot", "A. Jansen-Bot", "")
        ),
    ],
)
def test_who_is_a_bot(name, bot):
    assert is_bot_name(name) is bot


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("a/b={0}", "--since", "2024-07-01"), "ends before the window begins"),
        (("a/b={0}", "a/b"), "named twice"),
        (("a/b=",), "no directory after the name"),
        (("a/b=/nowhere/at/all",), "no such directory"),
        (("a/b={0}/..",), "no git repository"),
        (("wheels={0}",), "not a repository"),
        (("a/b={0}", "--save", "x"), "nothing to save"),
        (("a/b={0}", "--reviews"), "nothing to save"),
        (("a/b={0}", "--from", "x"), "a git history"),
        (("a/b={0}", "--since", "0d"), "not a time in the past"),
        (("a/b={0}", "--since", "99999999d"), "not a time in the past"),
        (("a/b={0}", "--since", "739500d"), "longer than the calendar"),
    ],
)
def test_the_verb_refuses_clearly(wheels, arguments, words, capsys):
    assert run(*(argument.format(wheels.path) for argument in arguments)) == 2
    assert words in capsys.readouterr().err


def test_a_repository_without_commits(git):
    with pytest.raises(UserError, match="has no commit"):
        read(git.path)
