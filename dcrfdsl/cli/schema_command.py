"""`dcrfdsl schema`: JSON Schemas of what commands print for programs: `--json`, `check --format json`, `check --print
spec`.

They stand in `output_schemas.json`, by the command, each below its title; what several have in common stands there in
`$defs`, and is put in its place here. An output that is a line an object has the schema of one line. A number is `null`
where JSON has none for it: infinite, or not defined. Tests hold the outputs to the schemas. Not here: the outputs
themselves, which are in the commands. Source: JSON Schema, draft 2020-12.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from .. import semantics
from ..foundation import did_you_mean, spelling_remedy
from .console import refuse
from .options import Argument

Schema = dict[str, Any]
DRAFT = "https://json-schema.org/draft/2020-12/schema"
SCHEMAS: dict[str, Schema] = json.loads(Path(__file__).with_name("output_schemas.json").read_text(encoding="utf-8"))
SHARED: dict[str, Schema] = SCHEMAS.pop("$defs")
MODEL = "model"  # a `ModelSpec`, as `check --print spec` prints it; the file has its title alone


def json_schema(name: str) -> Schema:
    """The schema of an output, whole: it refers to no other one.   name: one of `SCHEMAS`."""
    whole = semantics.json_adapter(semantics.ModelSpec).json_schema(mode="serialization") if name == MODEL else {}
    whole |= _whole(SCHEMAS[name]) | {"title": f"dcrfdsl: {SCHEMAS[name]['title']}"}
    return {"$schema": DRAFT, "title": whole["title"], **whole}


def _whole(part: Any) -> Any:
    """A part of a schema with what is shared in its place."""
    if isinstance(part, list):
        return [_whole(one) for one in part]
    if not isinstance(part, dict):
        return part
    shared = SHARED.get(str(part.get("$ref")).removeprefix("#/$defs/"))
    return {key: _whole(value) for key, value in part.items()} if shared is None else _whole(shared)


def schema(
    name: Annotated[str | None, Argument("[NAME]")] = None,
) -> None:
    """Print the JSON Schema of an output for programs."""
    if name is None:
        width = max(map(len, SCHEMAS))
        for known, one in SCHEMAS.items():
            print(f"{known:<{width}}  {one['title']}")
        return
    if name not in SCHEMAS:
        remedy = spelling_remedy(did_you_mean(name, SCHEMAS), f"there are schemas of {', '.join(SCHEMAS)}")
        refuse("unknown-schema", f"there is no schema `{name}`", remedy)
    print(json.dumps(json_schema(name), indent=2, ensure_ascii=False))
