"""The surface of the language: from text to tree (`parse`) and back (`format_template`).

Below it only `errors` and `registry`. Not here: the meaning of names and settings (`spec`).
"""

from __future__ import annotations

from .format import format_template
from .parser import parse, parse_partial
from .resources import resource_path

__all__ = ["format_template", "parse", "parse_partial", "resource_path"]
