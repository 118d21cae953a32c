"""JSON5 and YAML of configurations, read as values without their line numbers."""

import re
from typing import Any

_STRING = r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\''


def yaml_value(text: str) -> Any:
    """Raises an error of ruamel.yaml if the text is not YAML."""
    from ruamel.yaml import YAML

    return YAML(typ="safe", pure=True).load(text)


def json5_value(text: str) -> Any:
    """Read JSON5, which without its comments is YAML's flow style, as far as configurations use it.
    Raises as `yaml_value` does."""
    bare = re.sub(rf"({_STRING})|//[^\n]*|/\*.*?\*/", lambda m: m[1] or " ", text, flags=re.DOTALL)
    spaced = re.sub(rf"({_STRING})|:(?=\S)", lambda m: m[1] or ": ", bare, flags=re.DOTALL)
    return yaml_value(spaced.replace("\t", " "))
