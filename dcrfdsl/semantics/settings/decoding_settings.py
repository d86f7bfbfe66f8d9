"""The ways to decode: how labels are read off a model, and the settings of those that search for bounds.

A rule travels as text, `optimal(nodes = 500)`, in stages, records and calls of Python; settings that are left out have
their defaults. Not here: which rule a stage has (`implied_settings`), decoding itself.
"""

import functools
import re

from pydantic import ValidationError

from ...foundation import DcrfError, Diagnostic, spelling_remedy
from .method_settings import LEAST, LONGEST, MethodSettings, methods_of, setting


class JointDecoding(MethodSettings):
    method = "joint"


class MarginalDecoding(MethodSettings):
    method = "marginal"


class LocalDecoding(MethodSettings):
    method = "local"


class BoundingDecoding(MethodSettings):
    """Base of decoding with an upper bound on what any labelling scores."""

    iterations: int = setting(200, unit="iterations", ge=1, le=1_000_000)

    @property
    def most_nodes(self) -> int:
        """How many nodes the search of a sentence may have; 1 is the bound alone."""
        return 1


class CertifiedDecoding(BoundingDecoding):
    method = "certified"


class OptimalDecoding(BoundingDecoding):
    method = "optimal"
    nodes: int = setting(1000, unit="nodes", ge=1, le=10_000_000)

    @property
    def most_nodes(self) -> int:
        return self.nodes


class FscoreDecoding(MethodSettings):
    method = "fscore"
    positional = ("label",)
    label: str = setting(...)
    gamma: float = setting(1.0, ge=LEAST, le=LONGEST)
    overall: float | None = setting(None, ge=0, le=1)


DECODINGS = methods_of(
    "decoding rule", JointDecoding, MarginalDecoding, LocalDecoding, CertifiedDecoding, OptimalDecoding,
    FscoreDecoding,
)  # fmt: skip

_RULE = re.compile(r"\s*(\w+)\s*(?:\(([^()]*)\))?\s*")
_SETTING = re.compile(r"\s*(?:(\w+)\s*=)?\s*([\w.+-]+)\s*")


def decoding_text(settings: MethodSettings) -> str:
    """The text of a rule: its name, and the settings that differ from their defaults."""
    changed = settings.model_dump(exclude_defaults=True)
    inside = [f"{value}" if name in settings.positional else f"{name} = {value}" for name, value in changed.items()]
    return f"{settings.method}({', '.join(inside)})" if inside else settings.method


@functools.lru_cache(64)  # asked for with each sentence that a program tags
def read_decoding(text: str) -> MethodSettings:
    """The settings of a rule from its text. Raises DcrfError where it is none."""
    match = _RULE.fullmatch(text)
    name = match[1] if match else text
    if match is None or name not in DECODINGS:
        known = ", ".join(f"`{rule}`" for rule in DECODINGS)
        remedy = spelling_remedy(DECODINGS.suggest(name), f"the ways to decode are {known}")
        raise DcrfError(Diagnostic("unknown-method", f"`{text}` is not a way to decode", help=remedy))
    fields, values, places = DECODINGS[name].model_fields, dict[str, str](), iter(DECODINGS[name].positional)
    for written in match[2].split(",") if match[2] and match[2].strip() else []:
        part = _SETTING.fullmatch(written)
        key = None if part is None else part[1] or next(places, None)
        if part is None or key not in fields:
            remedy = f"its settings are {', '.join(f'`{field}`' for field in fields)}" if fields else "it has none"
            raise DcrfError(Diagnostic("unknown-setting", f"`{written.strip()}` is not a setting of `decode {name}`",
                                       help=remedy))  # fmt: skip
        values[key] = part[2]
    try:
        return DECODINGS[name](**values)  # numbers are read from texts
    except ValidationError as error:
        first = error.errors()[0]
        found = "nothing" if first["type"] == "missing" else f"`{first['input']}`"
        message = f"{found} is no value for `{first['loc'][0]}`: {first['msg'].lower()}"
        raise DcrfError(Diagnostic("bad-setting", message)) from None
