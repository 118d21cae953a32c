"""A server on the loopback that answers as GitHub's REST API does: pages behind Link headers that
name the repository by its number, limits, redirects, statistics that are still being computed, and
cut answers.
"""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

NAME, NUMBER = "acme/wheels", 4711


def person(login, kind="User"):
    return {"login": login, "type": kind, "id": sum(map(ord, login)), "site_admin": False}


def issue(number, opened, closed=None, *, by="ann", association="NONE", merged=None, pull=False):
    """Return an entry of the list of issues; `merged` is a time, and `pull` an unmerged pull
    request."""
    entry = {
        "url": f"https://api.github.com/repos/{NAME}/issues/{number}",
        "number": number,
        "title": "private words",
        "body": "more private words",
        "state": "closed" if closed else "open",
        "created_at": opened,
        "closed_at": closed,
        "author_association": association,
        "user": by if isinstance(by, dict) or by is None else person(by),
    }
    if pull or merged:
        entry["pull_request"] = {
            "url": f"https://api.github.com/repos/{NAME}/pulls/{number}",
            "merged_at": merged,
        }
    return entry


def comment(number, time, by, *, review=False):
    kind = "pull_request_url" if review else "issue_url"
    return {
        kind: f"https://api.github.com/repos/{NAME}/{'pulls' if review else 'issues'}/{number}",
        "created_at": time,
        "updated_at": time,
        "author_association": "MEMBER",
        "user": by if isinstance(by, dict) else person(by),
        "body": "private words",
    }


def commit(sha, time, login):
    who = {"name": login, "email": f"{login}@example.org", "date": time}
    told = {"author": who, "committer": who, "message": "private"}
    return {"sha": sha, "commit": told, "author": person(login), "committer": person(login)}


def release(tag, created, published):
    """Return a release, which is a draft if it was not published."""
    known = {"tag_name": tag, "created_at": created, "published_at": published}
    return {**known, "draft": published is None, "prerelease": False}


class Api:
    """What the server knows, and the requests that it got. `scripted` are answers that come first
    for a path, each once: (status, headers, body)."""

    def __init__(self):
        self.repository = {
            "id": NUMBER,
            "full_name": NAME,
            "stargazers_count": 1234,
            "forks_count": 56,
            "subscribers_count": 7,
            "size": 2048,
            "archived": False,
            "license": {"spdx_id": "Apache-2.0"},
            "created_at": "2018-01-01T00:00:00Z",
        }
        self.lists = {
            n: []
            for n in ("issues", "pulls", "issues/comments", "pulls/comments", "commits", "releases")
        }
        self.lists["contributors"] = [person(f"p{i}") for i in range(42)]
        self.languages = {"C++": 3_000_000, "Python": 1_000_000}
        self.code_frequency = [[1_600_000_000, 100, -40], [1_700_000_000, 10, -5]]
        self.scripted: dict[str, list[tuple[int, dict, bytes]]] = {}
        self.asked: list[tuple[str, str | None]] = []
        self.page_limit = 100

    def paths(self):
        return [path for path, _ in self.asked]


@contextmanager
def serving(api):
    """Yield the base address of a server for this API."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"

        def log_message(self, *_):
            pass

        def do_GET(self):
            parts = urlsplit(self.path)
            api.asked.append((self.path, self.headers.get("Authorization")))
            path = parts.path.removeprefix("/api/v3")
            if api.scripted.get(path):
                return self._send(*api.scripted[path].pop(0))
            for prefix in (f"/repos/{NAME}", f"/repositories/{NUMBER}"):
                if path == prefix or path.startswith(prefix + "/"):
                    return self._repository(
                        path.removeprefix(prefix).strip("/"), parse_qs(parts.query)
                    )
            return self._send(404, {}, b'{"message": "Not Found", "status": "404"}')

        def _repository(self, what, query):
            if what == "":
                return self._json(api.repository)
            if what == "languages":
                return self._json(api.languages)
            if what == "stats/code_frequency":
                return self._json(api.code_frequency)
            if what not in api.lists:
                return self._send(404, {}, b'{"message": "Not Found"}')
            entries = api.lists[what]
            size = min(int(query.get("per_page", ["30"])[0]), api.page_limit)
            page = int(query.get("page", ["1"])[0])
            last = max(1, -(-len(entries) // size))

            def link(number, rel):
                asked = {name: values[0] for name, values in query.items()} | {"page": number}
                host = self.headers["Host"]
                base = "/api/v3" if self.path.startswith("/api/v3") else ""
                return (
                    f"<http://{host}{base}/repositories/{NUMBER}/{what}?{urlencode(asked)}>; "
                    f'rel="{rel}"'
                )

            links = [link(page - 1, "prev"), link(1, "first")] if page > 1 else []
            links += [link(page + 1, "next"), link(last, "last")] if page < last else []
            headers = {"Link": ", ".join(links)} if links else {}
            return self._json(entries[(page - 1) * size : page * size], headers)

        def _json(self, value, headers=()):
            self._send(200, dict(headers), json.dumps(value).encode())

        def _send(self, status, headers, body):
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(body))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    )
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
