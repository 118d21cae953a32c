"""JSON5 and YAML, read as configurations are written: values, without the lines they stand in."""

import re
from typing import Any

_STRING = r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\''


def yaml_value(text: str) -> Any:
    """Raises an error of ruamel.yaml's where it is not YAML."""
    from ruamel.yaml import YAML

    return YAML(typ="safe", pure=True).load(text)


def json5_value(text: str) -> Any:
    """JSON5 without its comments is YAML's flow style, as far as configurations go. Raises as
    `yaml_value` does."""
    bare = re.sub(rf"({_STRING})|//[^\n]*|/\*.*?\*/", lambda m: m[1] or " ", text, flags=re.DOTALL)
    spaced = re.sub(rf"({_STRING})|:(?=\S)", lambda m: m[1] or ": ", bare, flags=re.DOTALL)
    return yaml_value(spaced.replace("\t", " "))
