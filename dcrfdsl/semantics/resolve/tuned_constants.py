"""Constants to tune: their ranges, and the model with other values of them.

A range holds whole numbers if the users of the constant accept no others, as `min_count` does; the checker decides.
Not here: reading a range (`search_ranges`), the values that a search tries.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

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
    trying = _Trying(resolved, stage, registered)
    return {let.name: trying.usable(let) for let in lets}


class _Trying:
    """Asks the checker about values of constants, one at a time."""

    def __init__(self, resolved: Resolved, stage: str | None, registered: Collection[str]):
        self.resolved, self.stage, self.registered = resolved, stage, registered
        self.known = {d.message for d in self._errors(resolved)}

    def usable(self, let: Let) -> SearchRange:
        """The range of a constant, of whole numbers if necessary."""
        assert let.tune is not None
        search_range = read_range(let.tune)
        if search_range is None:
            message = f"the search range of `{let.name}` is none"
            raise DcrfError(Diagnostic("bad-argument", message, help="for example `log(0.1, 1000)`"))
        if isinstance(search_range, Candidates):
            self._require(let, search_range.values)
            return search_range
        within = (search_range.low + part * (search_range.high - search_range.low) for part in INSIDE)
        between = next(number for number in within if number != round(number))
        least, most = math.ceil(search_range.low), math.floor(search_range.high)
        is_whole = bool(self._complaints(let, Number(value=between))) and least <= most
        if is_whole and not any(self._complaints(let, Number(value=end)) for end in (least, most)):
            return Interval(least, most, search_range.log, whole=True)
        self._require(let, (Number(value=search_range.low), Number(value=search_range.high), Number(value=between)))
        return search_range

    def _require(self, let: Let, values: Iterable[Value]) -> None:
        for value in values:
            complaints = self._complaints(let, value)
            if complaints:
                raise DcrfError(complaints)

    def _complaints(self, let: Let, value: Value) -> list[Diagnostic]:
        """The errors that a value of the constant causes."""
        tried = self._errors(with_constants(self.resolved, {let.name: value}))
        return [d for d in tried if d.message not in self.known]

    def _errors(self, resolved: Resolved) -> list[Diagnostic]:
        diagnostics = check(resolved, stage=self.stage, registered=self.registered)
        return [d for d in diagnostics if d.severity == "error"]
