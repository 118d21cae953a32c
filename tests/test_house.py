"""The package is found by nouns (docs/develop/style.md): no folder is a long flat list, and no
module is so small that the only other one which uses it is the place to look for it."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "rmwbench"
MOST_FILES = 20
FEWEST_LINES = 40
STEPS = ("keys", "cell", "plan", "trial", "answer")


def name_of(path: Path) -> str:
    """As Python imports it: a package's `__init__` is the package."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imported(path: Path) -> Iterator[str]:
    """Modules of the package that a file imports, wherever in it. All imports are absolute."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, path
            for one in node.names:
                inner = f"{node.module}.{one.name}"
                yield inner if inner in MODULES else str(node.module)


def test_no_folder_is_a_long_flat_list():
    sizes = Counter(str(path.parent.relative_to(ROOT)) for path in MODULES.values())
    assert {name: size for name, size in sizes.items() if size > MOST_FILES} == {}


def is_loaded_by_name(name: str) -> bool:
    """A feature's module of a step (rmwbench/beside/__init__.py)."""
    return name.startswith("rmwbench.beside.") and name.rpartition(".")[2] in STEPS


def test_no_small_module_has_one_importer():
    importers: dict[str, set[str]] = defaultdict(set)
    for name, path in MODULES.items():
        for one in imported(path):
            importers[one].add(name)
    small = {
        name: (len(path.read_text(encoding="utf-8").splitlines()), *importers[name])
        for name, path in MODULES.items()
        if path.name not in ("__init__.py", "__main__.py")
        and len(importers[name]) == 1
        and not is_loaded_by_name(name)
    }
    assert {name: held for name, held in small.items() if held[0] < FEWEST_LINES} == {}
