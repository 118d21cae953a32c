"""What is asked of the API for one repository, and how far back: everything opened since a cutoff,
newest first.

Issues and pull requests come from one list that has both, so each is asked for once; a pull request
is told by its `pull_request` key, merged from closed unmerged by its `merged_at`. First responses
come from the repository's comment lists instead of one request per item.
"""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from rmwbench.published.community.github.client import ApiClient, Missing, NotFound

Raw = dict[str, Any]
"""Part of a repository (`PARTS`) → the API's answer, or {"no_data": reason}."""

PARTS = {
    "repository": "stars, forks, licence",
    "issues": "issues and pull requests",
    "pulls": "which pull requests were merged",
    "comments": "first responses",
    "review_comments": "first responses by review comments",
    "reviews": "first responses by reviews",
    "commits": "commits",
    "releases": "releases",
    "languages": "code size",
    "code_frequency": "lines changed",
    "contributors": "contributors",
}


def collect(
    client: ApiClient,
    name: str,
    since: datetime,
    *,
    reviews: bool = False,
    notify: Callable[[str], None] = lambda text: None,
) -> Raw:
    """The raw answers about OWNER/NAME since the cutoff. Raises UserError where the repository
    cannot be read at all.

    `reviews` asks for each pull request's reviews too: one request each, but an approval without a
    comment is seen.
    """
    path = f"repos/{name}"
    raw: Raw = {"collected": {"name": name, "since": stamp(since)}}
    raw["repository"] = client.one(path)
    name = raw["collected"]["name"] = raw["repository"].get("full_name") or name
    path = f"repos/{name}"
    notify(f"{name}: issues and pull requests")
    newest = {"state": "all", "sort": "created", "direction": "desc"}
    items = _part(lambda: _since(client.pages(f"{path}/issues", **newest), since))
    raw["issues"] = items
    if isinstance(items, dict) or any(
        _closed_pull(entry) and not _knows_merge(entry) for entry in items
    ):
        # Issues may be switched off, and older servers do not say there what was merged.
        raw["pulls"] = _part(lambda: _since(client.pages(f"{path}/pulls", **newest), since))
    notify(f"{name}: comments")
    updated = {"since": stamp(since), "sort": "created", "direction": "asc"}
    raw["comments"] = _part(lambda: _all(client.pages(f"{path}/issues/comments", **updated)))
    raw["review_comments"] = _part(lambda: _all(client.pages(f"{path}/pulls/comments", **updated)))
    if reviews:
        raw["reviews"] = _part(lambda: _reviews(client, path, raw))
    notify(f"{name}: commits, releases")
    raw["commits"] = _part(lambda: _all(client.pages(f"{path}/commits", since=stamp(since))))
    raw["releases"] = _part(lambda: _all(client.pages(f"{path}/releases")))
    raw["languages"] = _part(lambda: client.one(f"{path}/languages"))
    raw["code_frequency"] = _part(lambda: client.one(f"{path}/stats/code_frequency"))
    raw["contributors"] = _part(lambda: client.count(f"{path}/contributors", anon="true"))
    # When it ends, not when it begins: what was opened in between is in the lists.
    raw["collected"]["until"] = stamp(datetime.now(UTC))
    return trimmed(raw)


def _since(pages: Iterable[list[Raw]], since: datetime) -> list[Raw]:
    """All entries up to the first that is older: the list is sorted by creation, so the next page
    is not asked for. An entry that a new one pushed onto the next page is counted once."""
    entries: dict[int, Raw] = {}
    for page in pages:
        for entry in page:
            if parse(entry["created_at"]) < since:
                return list(entries.values())
            entries[entry["number"]] = entry
    return list(entries.values())


def _all(pages: Iterable[list[Raw]]) -> list[Raw]:
    return [entry for page in pages for entry in page]


def _reviews(client: ApiClient, path: str, raw: Raw) -> list[Raw]:
    listed = raw["issues"] if isinstance(raw["issues"], list) else raw.get("pulls", [])
    numbers = [e["number"] for e in listed if is_pull(e)] if isinstance(listed, list) else []
    return [r for n in numbers for r in _all(client.pages(f"{path}/pulls/{n}/reviews"))]


def _part(ask: Callable[[], Any]) -> Any:
    """The answer; where this repository has none, the reason, and the rest goes on."""
    try:
        return ask()
    except Missing as reason:
        return {"no_data": str(reason)}
    except NotFound:
        return {"no_data": "this server does not have it"}


def is_pull(entry: Raw) -> bool:
    """Whether an entry of either list is a pull request."""
    return "pull_request" in entry or "merge_commit_sha" in entry or "base" in entry


def _closed_pull(entry: Raw) -> bool:
    return is_pull(entry) and entry.get("state") == "closed"


def _knows_merge(entry: Raw) -> bool:
    return "merged_at" in (entry.get("pull_request") or {})


_KEPT = {
    part: names.split()
    for part, names in {
        "repository": "full_name stargazers_count forks_count subscribers_count size created_at "
        "pushed_at archived fork default_branch license",
        "issues": "number url state created_at closed_at author_association user pull_request "
        "draft",
        "comments": "issue_url created_at author_association user",
        "review_comments": "pull_request_url created_at author_association user",
        "reviews": "pull_request_url submitted_at author_association user",
        "commits": "sha commit author committer",
        "releases": "tag_name created_at published_at draft prerelease",
    }.items()
}
_KEPT["pulls"] = [*_KEPT["issues"], "merged_at", "merge_commit_sha"]


def trimmed(raw: Raw) -> Raw:
    """The same without what is never read: titles, texts, e-mail addresses and what else people
    wrote."""

    def keep(part: str, entry: Raw) -> Raw:
        kept_entry = {name: entry[name] for name in _KEPT[part] if name in entry}
        for person in ("user", "author", "committer"):
            if isinstance(kept_entry.get(person), dict):
                kept_entry[person] = {k: kept_entry[person].get(k) for k in ("login", "type")}
        if isinstance(kept_entry.get("commit"), dict):
            who = kept_entry["commit"].get("author") or {}
            kept_entry["commit"] = {
                "author": {"date": who.get("date"), "name": who.get("name")}
            } | {"committer": {"date": (kept_entry["commit"].get("committer") or {}).get("date")}}
        return kept_entry

    out: Raw = {}
    for part, answer in raw.items():
        if part not in _KEPT or (isinstance(answer, dict) and "no_data" in answer):
            out[part] = answer
        elif isinstance(answer, dict):
            out[part] = keep(part, answer)
        else:
            out[part] = [keep(part, entry) for entry in answer]
    return out


def stamp(time: datetime) -> str:
    """A time as the API writes it."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse(text: str) -> datetime:
    """A time of the API. Raises ValueError for anything else."""
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)
