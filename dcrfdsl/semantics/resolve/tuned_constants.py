"""Constants to tune: their ranges, and the model with other values of them.

A range holds whole numbers if the users of the constant accept no others, as `min_count` does; the checker decides.
Not here: reading a range (`search_ranges`), the values that a search tries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial

from ...foundation import DcrfError, Diagnostic
from ...syntax import Let, Number, Value
from ..checks import check
from ..schema import Candidates, Interval, SearchRange, read_range
from .draft import check_constants
from .resolution import Resolved

INSIDE = (0.3819, 0.2764)  # parts of an interval: places that are not both whole numbers


def with_constants(resolved: Resolved, values: Mapping[str, Value]) -> Resolved:
    """The same model with other values of its constants, and the diagnostics of `check_constants`."""
    lets = tuple(
        let.model_copy(update={"value": values[let.name]}) if let.name in values else let for let in resolved.spec.lets
    )
    spec = resolved.spec.model_copy(update={"lets": lets})
    problems = (*resolved.diagnostics, *check_constants(spec))
    return replace(resolved, spec=spec, diagnostics=problems)


def tuned_ranges(
    resolved: Resolved, *, stage: str | None = None, registered: Collection[str] = ()
) -> dict[str, SearchRange]:
    """The range of every constant to tune, in the order of the template.

    Raises DcrfError `nothing-to-tune` if there is none, `bad-argument` for an invalid range, and the checker's problems
    with an end or a value that the users of the constant do not accept.
    """
    lets = [let for let in resolved.require(unchecked=True).lets if let.tune is not None]
    if not lets:
        remedy = "give a constant its search range: `let variance = 10 tune log(0.1, 1000)`"
        raise DcrfError(Diagnostic("nothing-to-tune", "no constant of the template has a search range", help=remedy))

    def errors(tried: Resolved) -> list[Diagnostic]:
        return [one for one in check(tried, stage=stage, registered=registered) if one.severity == "error"]

    known = {one.message for one in errors(resolved)}

    def complaints(let: Let, value: Value) -> list[Diagnostic]:
        """The errors that a value of the constant causes."""
        return [one for one in errors(with_constants(resolved, {let.name: value})) if one.message not in known]

    return {let.name: _usable(let, partial(complaints, let)) for let in lets}


def _usable(let: Let, complaints: Callable[[Value], list[Diagnostic]]) -> SearchRange:
    """The range of a constant, of whole numbers if necessary."""
    assert let.tune is not None
    search_range = read_range(let.tune)
    if search_range is None:
        message = f"the search range of `{let.name}` is none"
        raise DcrfError(Diagnostic("bad-argument", message, help="for example `log(0.1, 1000)`"))
    if isinstance(search_range, Candidates):
        tried = search_range.values
    else:
        low, high = search_range.low, search_range.high
        within = (low + part * (high - low) for part in INSIDE)
        between = Number(value=next(number for number in within if number != round(number)))
        least, most = math.ceil(low), math.floor(high)
        is_whole = least <= most and bool(complaints(between))
        if is_whole and not any(complaints(Number(value=end)) for end in (least, most)):
            return Interval(least, most, search_range.log, whole=True)
        tried = (Number(value=low), Number(value=high), between)
    for value in tried:
        if problems := complaints(value):
            raise DcrfError(problems)
    return search_range
