"""Rules on `runs` statements: what they bound, and by which numbers.

Not here: who trains and infers with bounds (`segment_rules`, `constraint_rules`), gold runs that break them
(`training.untrained_model`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...foundation import Diagnostic, did_you_mean
from ...syntax import Label, Runs
from ..schema import segment_classes, whole_number
from .context import LABEL_KINDS, At, Context, Rule, a, listed
from .name_rules import unknown_names
from .segment_rules import LONGEST, ambiguous_segments
from .term_reader import UnknownName

SLUG = "cannot-bound-runs"


def bounded_runs(context: Context) -> Iterator[Diagnostic]:
    """`runs` bounds a label, each state once, by numbers that leave something."""
    spec, before = context.spec, dict[tuple[str, str | None], At]()
    weighed = {clique.sites[0].variable: clique for clique in spec.cliques if clique.segmental}
    for one in spec.runs:
        at, name = one.place_of("variable"), one.variable
        found = context.named(name, "label")
        if not context.declared.get(name):
            yield from unknown_names(context, [UnknownName(name, at, LABEL_KINDS[:1])])
            continue
        if found is None:
            message = f"`{name}` is {a(context.declared[name][-1].kind)}, and runs are those of a label"
            yield context.complaint(SLUG, message, at, "no label", "name a label")
            continue
        others, variable = [(found.place, "declared here")], found.entry
        assert isinstance(variable, Label)
        if variable.per == "sentence":
            message = f"`{name}` is of the whole sentence, and runs are of tokens"
            yield context.complaint(SLUG, message, at, "of the sentence", "leave it out", others)
        if name in weighed:
            remedy = f"write `segment {name} from A up to B` in place of both"
            there: list[tuple[At, str]] = [(weighed[name], "its segments have bounds here")]
            yield context.complaint(SLUG, f"`{name}` has a `segment` statement", at, "bounded twice", remedy, there)
        yield from ambiguous_segments(context, variable, one, SLUG)
        if (name, one.state) in before:
            message = f"these runs of `{name}` have bounds already"
            there = [(before[name, one.state], "first said here")]
            yield context.complaint(SLUG, message, one, "again", "join them: `from A up to B`", there)
        before[name, one.state] = one
        states = context.states(name)
        kinds = [] if states is None else [kind.name for kind in segment_classes(variable.domain, states) if kind.name]
        if states is not None and one.state is not None and one.state not in kinds:
            message = f"`{name}` has no runs of `{one.state}`"
            guess = did_you_mean(one.state, kinds) or did_you_mean(one.state.partition("-")[2], kinds)
            remedy = f"did you mean `{guess}`?" if guess else f"it has those of {listed(kinds)}"
            yield context.complaint("unknown-state", message, one.place_of("state"), "no such runs", remedy)
        yield from _bounds(context, one)


def _bounds(context: Context, one: Runs) -> Iterator[Diagnostic]:
    least, most = whole_number(context.spec, one.least) or 1, whole_number(context.spec, one.most)
    if max(least, most or 1) > LONGEST:
        at = one.place_of("least" if least > LONGEST else "most")
        message = f"runs are counted up to {LONGEST:,} tokens, and this is {max(least, most or 1):,}"
        yield context.complaint("bad-setting", message, at, "too many", "write a smaller number: each is a state")
    elif most is not None and least > most:
        message = f"no run has at least {least} and at most {most} tokens"
        yield context.complaint("bad-setting", message, one.place_of("most"), "tokens", "exchange them")
    elif least == 1 and most is None:
        message = f"this `runs` forbids nothing: each run of `{one.variable}` has a token"
        yield context.warning("already-implied", message, one, "forbids nothing", "write `from 2`, or `up to 60`")


RULES: tuple[Rule, ...] = (bounded_runs,)
