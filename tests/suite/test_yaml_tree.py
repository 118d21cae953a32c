"""libyaml's events make the very tree that ruamel.yaml reads: the same values, keys in their order,
the same lines."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from rmwbench.suite.file import yaml_reader

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = sorted(
    [
        *ROOT.glob("suites/**/*.yaml"),
        *ROOT.glob("limits/*.yaml"),
        *ROOT.glob("rmwbench/**/*.yaml"),
        ROOT / "mkdocs.yml",
    ]
)


def by_ruamel(text):
    yaml = YAML(typ="rt")
    yaml.allow_duplicate_keys = False
    return yaml.load(text)


def described(node):
    """A tree as plain values, with the lines and columns of its collections, keys and items. Where
    the value of a key begins is not among them: nobody asks, and of an empty one the two do not say
    the same."""
    if isinstance(node, CommentedMap):
        keys = [(described(key), described(value)) for key, value in node.items()]
        return (
            "map",
            node.lc.line,
            node.lc.col,
            {key: at[:2] for key, at in (node.lc.data or {}).items()},
            keys,
        )
    if isinstance(node, CommentedSeq):
        return (
            "seq",
            node.lc.line,
            node.lc.col,
            dict(node.lc.data or {}),
            [described(item) for item in node],
        )
    kind = next((scalar for scalar in (bool, int, float, str) if isinstance(node, scalar)), None)
    return (type(node), str(node)) if kind is None else (kind, kind(node))


@pytest.mark.long
@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_shipped_file_is_the_same_tree(path):
    text = path.read_text(encoding="utf-8")
    assert described(yaml_reader.read_yaml(text)) == described(by_ruamel(text))


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\nb: [x, 'y', \"z\", 1.5, -2, +3, 0, 1e3, 2.5E-3, .5, true, False, null, ~, ]\n",
        "a:\nb: ''\nc: {d: {e: [1, {f: g}]}, h: }\n",
        "- a\n-\n- - b\n  - c: d\n    e: f\n",
        "base: &base {x: 1, y: 2}\none: {<<: *base, y: 3}\ntwo:\n  <<: *base\n  z: *base\n",
        "a: &a {x: 1}\nb: &b {y: 2}\nc: {<<: [*a, *b], x: 5}\nd: {<<: *b}\ne: &e {<<: *a}\nf: {<<: "
        "*e}\n",
        "s: &s text\nt: *s\nn: &n 5\nm: *n\nl: &l [1, 2]\nk: *l\n",
        "a: |\n  two\n  lines\nb: >-\n  folded\n  text\n\n  more\nc: |+\n  kept\n\n",
        "# only\na: 1  # behind\n# between\nb:\n  # inside\n  - 1\n",
        "2020: a\ntrue: b\n1.5: c\nd e: f\n'<<': g\n",
        "date: 2026-11-23\nversion: 0.10.0\nsize: 4K\nrange: 10-20\nurl: "
        "http://example.org:80/a#b\ntime: 12:30\n",
        "{a: 1, b: [2, 3], \"c\": 'd'}\n",
        "naïve: é → ß\nplain: a b   c\nmulti: a\n  b\n  c\n",
        "---\na: 1\n...\n",
        "x: &x {a: 1}\ny: &x {a: 2}\nz: *x\n",
        "a: '!x'\nb: '&y'\nc: '*z'\n",
    ],
)
def test_what_is_taken_is_the_same_tree(text):
    assert described(yaml_reader.read_yaml(text)) == described(by_ruamel(text))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "text\n",
        "a: 1\na: 2\n",  # a key twice: an error, which ruamel.yaml tells
        "a: !!str 5\n",
        "a: !own {b: 1}\n",
        "%YAML 1.1\n---\na: yes\n",
        "a: 1\n---\nb: 2\n",
        "---\n---\na: 1\n",
        "a: &a [*a]\n",
        "a: &a {b: *a}\n",
        "a: *nobody\n",
        "? [a, b]\n: c\n",
        "a: 0x10\n",
        "a: 1_000\n",
        "a: 007\n",
        "a: .inf\n",
        "a: 2026-11-23 10:00:00\n",
        "a: <<\n",
        "<<: {a: 1}\n<<: {b: 2}\n",
        "<<: 5\n",
        "a: [1, 2\n",
        "a: 'x\n",
        "a\x85b: 1\n",
        "\ufeffa: 1\n",
        "a: \x01\n",
        "[" * 200 + "]" * 200 + "\n",
        "a: 2026-02-31\n",
    ],
)
def test_what_is_unusual_or_wrong_is_left_to_ruamel(text):
    with pytest.raises(yaml_reader.Unsupported):
        yaml_reader.read_yaml(text)


def test_without_libyaml_ruamel_reads_everything(monkeypatch):
    monkeypatch.setattr(yaml_reader.yaml, "__with_libyaml__", False)
    with pytest.raises(yaml_reader.Unsupported):
        yaml_reader.read_yaml("a: 1\n")
