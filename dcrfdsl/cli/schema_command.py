"""`dcrfdsl schema`: JSON Schemas of what commands print for programs. Not here: the schemas (`json_schemas`)."""

from __future__ import annotations

import json
from typing import Annotated

from .console import refuse
from .options import Argument


def schema(
    name: Annotated[str | None, Argument("[NAME]", help="A command with `--json`, `check`, or `model`.")] = None,
) -> None:
    """Print the JSON Schema of an output for programs.

    Without a NAME it lists them all.

    \b
    Example:
      dcrfdsl schema
      dcrfdsl schema check > check.schema.json
      dcrfdsl schema model
    """
    from ..foundation import did_you_mean
    from .json_schemas import SCHEMAS, json_schema

    if name is None:
        width = max(map(len, SCHEMAS))
        for known, (title, _) in SCHEMAS.items():
            print(f"{known:<{width}}  {title}")
        return
    if name not in SCHEMAS:
        guess = did_you_mean(name, SCHEMAS)
        remedy = f"did you mean `{guess}`?" if guess else f"there are schemas of {', '.join(SCHEMAS)}"
        refuse("unknown-schema", f"there is no schema `{name}`", remedy)
    print(json.dumps(json_schema(name), indent=2, ensure_ascii=False))
