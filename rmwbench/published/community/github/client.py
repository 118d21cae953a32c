"""One client for GitHub's REST API: pages by their Link headers, rate limits honoured, the token
sent to one place.

What the API does besides answering: it sends the rest of a list behind a Link header, redirects
renamed repositories, answers 202 while it computes statistics, 403 or 429 with a time when the
limit is used up, and now and then cuts an answer short. Each of these is handled here and nowhere
else.
"""

import http.client
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

from rmwbench.errors import UserError

PUBLIC = "https://api.github.com"
PER_PAGE = 100
TRIES = 4
"""Attempts at a request that failed for no reason of ours: a cut answer, a broken connection, a
5xx."""
PAUSE_S = 2.0
"""Before the second try; twice as long before each further one."""
MOST_WAITS = 5
"""The most waits for one request, in case a limit does not end at the time that it states."""
SECONDARY_WAIT_S = 60.0
"""GitHub asks for a minute when it names a secondary limit without a time."""
MOST_BYTES = 64 * 1024 * 1024
NEXT = re.compile(r'<([^>]*)>\s*;[^,]*\brel="?next"?')
LAST_PAGE = re.compile(r'<[^>]*[?&]page=(\d+)[^>]*>\s*;[^,]*\brel="?last"?')


class Missing(Exception):
    """The API has no answer to this question for this repository; the text says why."""


class NotFound(UserError):
    """404: of a repository's address a mistake of the user, of a part of one that this server does
    not have it."""


class ApiClient:
    """Questions to one API. `max_wait_s` bounds each wait for a limit; longer ones are an error
    that says until when.

    `notify` gets a sentence before each wait. `sleep` and `now_s` (Unix time) are there for tests.
    """

    def __init__(
        self,
        base: str = PUBLIC,
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
                "not the address of an API", where=base, expected=f"for example {PUBLIC}"
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

    def one(self, path: str, **query: object) -> Any:
        """The answer to one question. `Missing` where there is none."""
        return self._ask(self._url(path, query))[0]

    def pages(self, path: str, **query: object) -> Iterator[list[dict[str, Any]]]:
        """A list, page by page, until its Link header names no next one; a caller that has enough
        stops reading."""
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
            following = NEXT.search(headers.get("link", ""))
            url = None if following is None else self._same_place(urljoin(url, following[1]))

    def count(self, path: str, **query: object) -> int:
        """How long a list is, in one request: the number of its last page, one entry per page."""
        answer, headers = self._ask(self._url(path, {"per_page": 1} | query))
        if not isinstance(answer, list):
            raise UserError("not a list", where=path, expected="a list", actual=_short(answer))
        last = LAST_PAGE.search(headers.get("link", ""))
        return int(last[1]) if last else len(answer)

    def _url(self, path: str, query: Mapping[str, object]) -> str:
        return f"{self.base}/{path}" + (f"?{urlencode(query)}" if query else "")

    def _same_place(self, url: str) -> str:
        """The token goes to the API's own address and nowhere else, wherever an answer points."""
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
                failures = self._again(url, failures, _reason(error))
                continue
            if status in (301, 302, 307, 308):
                redirects += 1
                if redirects > 5 or "location" not in headers:
                    raise UserError("redirected without end", where=url)
                url = self._same_place(urljoin(url, headers["location"]))
            elif status == 202:
                if failures + 1 >= TRIES:
                    raise Missing("GitHub was still computing it")
                failures += 1
                self._sleep(PAUSE_S * failures)
            elif status == 204:
                return [], headers
            elif status == 200:
                try:
                    return json.loads(body), headers
                except ValueError as error:
                    failures = self._again(url, failures, f"cut or damaged JSON ({error})")
            elif (
                status in (403, 429) and (wait := self._limited(status, headers, body)) is not None
            ):
                waits += 1
                if waits > MOST_WAITS:
                    raise UserError(
                        f"still refused by {wait[1]} after {MOST_WAITS} waits", where=url
                    )
                self._wait(url, *wait)
            elif status >= 500:
                failures = self._again(url, failures, f"status {status}")
            else:
                self._refused(url, status, body)

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
            return (
                answer.status,
                {name.lower(): value for name, value in answer.headers.items()},
                body,
            )

    def _again(self, url: str, failures: int, why: str) -> int:
        if failures + 1 >= TRIES:
            raise UserError(
                f"no whole answer in {TRIES} tries",
                where=url,
                actual=why,
                fix="try again later; what is saved (--save) can be shown with --from",
            )
        self._sleep(PAUSE_S * 2**failures)
        return failures + 1

    def _limited(
        self, status: int, headers: Mapping[str, str], body: bytes
    ) -> tuple[float, str] | None:
        """(seconds to wait, which limit), None where it is not a limit that refused."""
        after = headers.get("retry-after", "")
        if after.strip().isdigit():
            return float(after), "a secondary limit"
        reset = headers.get("x-ratelimit-reset", "")
        if headers.get("x-ratelimit-remaining") == "0" and reset.isdigit():
            limit = headers.get("x-ratelimit-limit", "?")
            # A second more: the API's clock and ours need not tick together.
            return max(
                1.0, float(reset) - self._now_s() + 1.0
            ), f"the limit of {limit} requests per hour"
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

    def _refused(self, url: str, status: int, body: bytes) -> None:
        try:
            message = str(json.loads(body).get("message", ""))[:200]
        except (ValueError, AttributeError):
            message = ""
        if status in (409, 410, 422, 451) or (status == 403 and "too large" in message):
            raise Missing(f"GitHub says: {message or status}")
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
    """urllib would carry the token to wherever an answer points."""

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
