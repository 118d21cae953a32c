"""One client for GitHub's REST API: it follows pages by their Link headers, honours rate limits,
and sends the token to one place only.

Besides answering, the API sends the rest of a list behind a Link header, redirects renamed
repositories, answers 202 while it computes statistics, 403 or 429 with a time when the limit is
used up, and sometimes cuts an answer short. All of this is handled here and nowhere else.

`collect` asks for everything about a repository that was opened since a cutoff, newest first. Issues
and pull requests come from one list that has both, so each is asked for once. A pull request is
recognised by its `pull_request` key, and a merged one by its `merged_at`. First responses come from
the repository's comment lists and not from one request per item.
"""

import http.client
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

from rmwbench.errors import UserError

PUBLIC_API = "https://api.github.com"
PER_PAGE = 100
TRIES = 4
"""Attempts at a request that failed because of the server or the network: a cut answer, a broken
connection, a 5xx."""
PAUSE_S = 2.0
"""The pause before the second try; each further one is twice as long."""
MOST_WAITS = 5
"""The most waits for one request, in case a limit does not end at the time that it states."""
SECONDARY_WAIT_S = 60.0
"""The minute that GitHub asks for when it names a secondary limit without a time."""
MOST_BYTES = 64 * 1024 * 1024
NEXT = re.compile(r'<([^>]*)>\s*;[^,]*\brel="?next"?')
LAST_PAGE = re.compile(r'<[^>]*[?&]page=(\d+)[^>]*>\s*;[^,]*\brel="?last"?')


class NoResponse(Exception):
    """The API has no answer to this question for this repository; the text says why."""


class NotFound(UserError):
    """Status 404. At a repository's own address it is a mistake of the user; at the address of a
    part it means that this server does not have the part."""


class ApiClient:
    """Questions to one API. `max_wait_s` bounds each wait for a limit; a longer wait is an error
    that says until when.

    `notify` gets a sentence before each wait. `sleep` and `now_s` (Unix time) are there for tests.
    """

    def __init__(
        self,
        base: str = PUBLIC_API,
        token: str | None = None,
        *,
        max_wait_s: float = 120.0,
        timeout_s: float = 60.0,
        notify: Callable[[str], None] = lambda text: None,
        sleep: Callable[[float], None] = time.sleep,
        now_s: Callable[[], float] = time.time,
    ):
        parts = urlsplit(base)
        if (
            parts.scheme not in ("http", "https")
            or not parts.netloc
            or parts.query
            or parts.username
        ):
            raise UserError(
                "not the address of an API", where=base, expected=f"for example {PUBLIC_API}"
            )
        if token is not None and not re.fullmatch(r"[\x21-\x7e]+", token):
            raise UserError("the token has characters that no token has", where="GITHUB_TOKEN")
        self.base = base.rstrip("/")
        self._origin = (parts.scheme, parts.netloc)
        self._token = token
        self._max_wait_s, self._timeout_s = max_wait_s, timeout_s
        self._notify, self._sleep, self._now_s = notify, sleep, now_s
        self._opener = urllib.request.build_opener(_NoRedirects)
        self.requests = 0

    def get(self, path: str, **query: object) -> Any:
        """Return the answer to one question. Raise NoResponse if there is none."""
        return self._ask(self._url(path, query))[0]

    def pages(self, path: str, **query: object) -> Iterator[list[dict[str, Any]]]:
        """Yield a list, page by page, until its Link header names no next one; a caller that has
        enough stops reading."""
        url: str | None = self._url(path, {"per_page": PER_PAGE} | query)
        seen: set[str] = set()
        while url is not None:
            if url in seen:
                raise UserError("the pages of this list run in a circle", where=url)
            seen.add(url)
            answer, headers = self._ask(url)
            if not isinstance(answer, list) or not all(isinstance(entry, dict) for entry in answer):
                raise UserError(
                    "not a list", where=url, expected="a list of objects", actual=_short(answer)
                )
            yield answer
            link = NEXT.search(headers.get("link", ""))
            url = None if link is None else self._require_origin(urljoin(url, link[1]))

    def count(self, path: str, **query: object) -> int:
        """Return how long a list is, with one request: one entry per page, so the number of its
        last page is the length."""
        answer, headers = self._ask(self._url(path, {"per_page": 1} | query))
        if not isinstance(answer, list):
            raise UserError("not a list", where=path, expected="a list", actual=_short(answer))
        last = LAST_PAGE.search(headers.get("link", ""))
        return int(last[1]) if last else len(answer)

    def _url(self, path: str, query: Mapping[str, object]) -> str:
        return f"{self.base}/{path}" + (f"?{urlencode(query)}" if query else "")

    def _require_origin(self, url: str) -> str:
        """Return `url`. Raise UserError unless it is at the API's own address, wherever an answer
        points, because the token must go nowhere else."""
        parts = urlsplit(url)
        if (parts.scheme, parts.netloc) != self._origin:
            raise UserError("the API points to another host", where=url, expected=self.base)
        return url

    def _ask(self, url: str) -> tuple[Any, Mapping[str, str]]:
        failures = redirects = waits = 0
        while True:
            try:
                status, headers, body = self._request(url)
            except (OSError, http.client.HTTPException) as error:
                failures = self._retry(url, failures, _reason(error))
                continue
            if status in (301, 302, 307, 308):
                redirects += 1
                if redirects > 5 or "location" not in headers:
                    raise UserError("redirected without end", where=url)
                url = self._require_origin(urljoin(url, headers["location"]))
            elif status == 202:
                if failures + 1 >= TRIES:
                    raise NoResponse("GitHub was still computing it")
                self._sleep(PAUSE_S * 2**failures)
                failures += 1
            elif status == 204:
                return [], headers
            elif status == 200:
                try:
                    return json.loads(body), headers
                except ValueError as error:
                    failures = self._retry(url, failures, f"cut or damaged JSON ({error})")
            elif status in (403, 429) and (limit := self._limit(status, headers, body)) is not None:
                waits += 1
                if waits > MOST_WAITS:
                    what = f"still refused by {limit[1]} after {MOST_WAITS} waits"
                    raise UserError(what, where=url)
                self._wait(url, *limit)
            elif status >= 500:
                failures = self._retry(url, failures, f"status {status}")
            else:
                self._refuse(url, status, body)

    def _request(self, url: str) -> tuple[int, Mapping[str, str], bytes]:
        headers = {"Accept": "application/vnd.github+json", "User-Agent": "rmwbench"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        self.requests += 1
        try:
            answer = self._opener.open(
                urllib.request.Request(url, headers=headers), timeout=self._timeout_s
            )
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            body = answer.read(MOST_BYTES + 1)
            expected = answer.headers.get("Content-Length", "")
            # A bounded read does not notice that the connection ended early.
            if expected.isdigit() and len(body) < min(int(expected), MOST_BYTES):
                raise http.client.IncompleteRead(body, int(expected) - len(body))
            if len(body) > MOST_BYTES:
                raise UserError(
                    "the answer is too large", where=url, expected=f"at most {MOST_BYTES} bytes"
                )
            lower_case = {name.lower(): value for name, value in answer.headers.items()}
            return answer.status, lower_case, body

    def _retry(self, url: str, failures: int, reason: str) -> int:
        if failures + 1 >= TRIES:
            raise UserError(
                f"no whole answer in {TRIES} tries",
                where=url,
                actual=reason,
                fix="try again later; what is saved (--save) can be shown with --from",
            )
        self._sleep(PAUSE_S * 2**failures)
        return failures + 1

    def _limit(
        self, status: int, headers: Mapping[str, str], body: bytes
    ) -> tuple[float, str] | None:
        """Return (seconds to wait, which limit); None if no limit caused the refusal."""
        after = headers.get("retry-after", "")
        if after.strip().isdigit():
            return float(after), "a secondary limit"
        reset = headers.get("x-ratelimit-reset", "")
        if headers.get("x-ratelimit-remaining") == "0" and reset.isdigit():
            limit = headers.get("x-ratelimit-limit", "?")
            # A second is added, since the API's clock and ours may differ.
            wait_s = max(1.0, float(reset) - self._now_s() + 1.0)
            return wait_s, f"the limit of {limit} requests per hour"
        if status == 429 or b"rate limit" in body.lower():
            return SECONDARY_WAIT_S, "a secondary limit"
        return None

    def _wait(self, url: str, seconds: float, limit: str) -> None:
        until = datetime.fromtimestamp(self._now_s() + seconds, UTC)
        when = f"until {until:%Y-%m-%d %H:%M:%S} UTC (in {_span(seconds)})"
        if seconds > self._max_wait_s:
            more = (
                "" if self._token else " or set GITHUB_TOKEN (5000 requests per hour instead of 60)"
            )
            raise UserError(
                f"{limit} is used up {when}",
                where=url,
                expected=f"a wait of at most {_span(self._max_wait_s)}",
                fix="run it again then, wait longer with --max-wait "
                f"{int(seconds / 60) + 1}m{more}",
            )
        self._notify(f"{limit} is used up: waiting {when}")
        self._sleep(seconds)

    def _refuse(self, url: str, status: int, body: bytes) -> None:
        try:
            message = str(json.loads(body).get("message", ""))[:200]
        except (ValueError, AttributeError):
            message = ""
        if status in (409, 410, 422, 451) or (status == 403 and "too large" in message):
            raise NoResponse(f"GitHub says: {message or status}")
        if status == 401:
            raise UserError(
                "the API does not accept the token",
                where=url,
                actual=message,
                fix="renew GITHUB_TOKEN",
            )
        if status == 404:
            raise NotFound(
                "no such repository, or the token may not see it",
                where=url,
                actual=message or "404",
                fix="check OWNER/NAME; a private one needs GITHUB_TOKEN",
            )
        raise UserError("the API refused", where=url, actual=f"{status} {message}".strip())


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, since urllib would carry the token to wherever an answer points."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _reason(error: Exception) -> str:
    if isinstance(error, http.client.IncompleteRead):
        return f"the answer ended after {len(error.partial)} bytes"
    return str(getattr(error, "reason", None) or error or type(error).__name__)


def _short(value: object) -> str:
    return str(value)[:120]


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


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
