"""What is asked of the API for one repository, and how far back: everything opened since a cutoff,
newest first.

Issues and pull requests come from one list that has both, so each is asked for once. A pull request
is recognised by its `pull_request` key, and a merged one by its `merged_at`. First responses come
from the repository's comment lists and not from one request per item.
"""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from rmwbench.published.community.github.client import ApiClient, NoResponse, NotFound

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
    """Return the raw answers about OWNER/NAME since the cutoff. Raise UserError if the repository
    cannot be read at all.

    `reviews` asks for each pull request's reviews too. This takes one request each, but shows an
    approval without a comment.
    """
    path = f"repos/{name}"
    raw: Raw = {"collected": {"name": name, "since": stamp(since)}}
    raw["repository"] = client.get(path)
    name = raw["collected"]["name"] = raw["repository"].get("full_name") or name
    path = f"repos/{name}"
    notify(f"{name}: issues and pull requests")
    newest = {"state": "all", "sort": "created", "direction": "desc"}
    items = _part(lambda: _since(client.pages(f"{path}/issues", **newest), since))
    raw["issues"] = items
    if isinstance(items, dict) or any(map(_lacks_merge, items)):
        # Issues may be switched off, and older servers do not say there which pulls were merged.
        raw["pulls"] = _part(lambda: _since(client.pages(f"{path}/pulls", **newest), since))
    notify(f"{name}: comments")
    updated = {"since": stamp(since), "sort": "created", "direction": "asc"}
    raw["comments"] = _part(lambda: _all_pages(client.pages(f"{path}/issues/comments", **updated)))
    raw["review_comments"] = _part(
        lambda: _all_pages(client.pages(f"{path}/pulls/comments", **updated))
    )
    if reviews:
        raw["reviews"] = _part(lambda: _reviews(client, path, raw))
    notify(f"{name}: commits, releases")
    raw["commits"] = _part(lambda: _all_pages(client.pages(f"{path}/commits", since=stamp(since))))
    raw["releases"] = _part(lambda: _all_pages(client.pages(f"{path}/releases")))
    raw["languages"] = _part(lambda: client.get(f"{path}/languages"))
    raw["code_frequency"] = _part(lambda: client.get(f"{path}/stats/code_frequency"))
    raw["contributors"] = _part(lambda: client.count(f"{path}/contributors", anon="true"))
    # The time of the end: the lists also have the items that were opened in between.
    raw["collected"]["until"] = stamp(datetime.now(UTC))
    return trimmed(raw)


def _since(pages: Iterable[list[Raw]], since: datetime) -> list[Raw]:
    """Return all entries up to the first that is older. The list is sorted by creation, so the next
    page is not asked for. An entry that a new one pushed onto the next page is counted once."""
    entries: dict[int, Raw] = {}
    for page in pages:
        for entry in page:
            if parse(entry["created_at"]) < since:
                return list(entries.values())
            entries[entry["number"]] = entry
    return list(entries.values())


def _all_pages(pages: Iterable[list[Raw]]) -> list[Raw]:
    return [entry for page in pages for entry in page]


def _reviews(client: ApiClient, path: str, raw: Raw) -> list[Raw]:
    items = raw["issues"] if isinstance(raw["issues"], list) else raw.get("pulls", [])
    numbers = [x["number"] for x in items if is_pull(x)] if isinstance(items, list) else []
    return [x for n in numbers for x in _all_pages(client.pages(f"{path}/pulls/{n}/reviews"))]


def _part(ask: Callable[[], Any]) -> Any:
    """Return the answer, or the reason why this repository has none; the other parts are read all
    the same."""
    try:
        return ask()
    except NoResponse as reason:
        return {"no_data": str(reason)}
    except NotFound:
        return {"no_data": "this server does not have it"}


def is_pull(entry: Raw) -> bool:
    """Whether an entry of either list is a pull request."""
    return "pull_request" in entry or "merge_commit_sha" in entry or "base" in entry


def _lacks_merge(entry: Raw) -> bool:
    """Whether an entry is a closed pull request that does not say whether it was merged."""
    says_merge = "merged_at" in (entry.get("pull_request") or {})
    return is_pull(entry) and entry.get("state") == "closed" and not says_merge


_KEYS = {
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
_KEYS["pulls"] = [*_KEYS["issues"], "merged_at", "merge_commit_sha"]


def trimmed(raw: Raw) -> Raw:
    """Return the answers without what is never read: titles, texts, e-mail addresses and whatever
    else people wrote."""

    def trim(part: str, entry: Raw) -> Raw:
        trimmed_entry = {name: entry[name] for name in _KEYS[part] if name in entry}
        for role in ("user", "author", "committer"):
            if isinstance(person := trimmed_entry.get(role), dict):
                trimmed_entry[role] = {key: person.get(key) for key in ("login", "type")}
        if isinstance(commit := trimmed_entry.get("commit"), dict):
            author, committer = commit.get("author") or {}, commit.get("committer") or {}
            trimmed_entry["commit"] = {
                "author": {"date": author.get("date"), "name": author.get("name")},
                "committer": {"date": committer.get("date")},
            }
        return trimmed_entry

    out: Raw = {}
    for part, answer in raw.items():
        if part not in _KEYS or (isinstance(answer, dict) and "no_data" in answer):
            out[part] = answer
        elif isinstance(answer, dict):
            out[part] = trim(part, answer)
        else:
            out[part] = [trim(part, entry) for entry in answer]
    return out


def stamp(time: datetime) -> str:
    """Return a time as the API writes it."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse(text: str) -> datetime:
    """Return a time that the API wrote. Raise ValueError for anything else."""
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)
