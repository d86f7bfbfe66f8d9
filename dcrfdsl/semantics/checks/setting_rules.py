"""Rules on settings: methods and their settings, domains of variables, ranges of constants.

`settings_reading` knows the names, types and limits; the rules ask it about each statement separately, so that no
mistake hides another. Not here: whether a method can run (`not_yet`), regexes, lexicons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...foundation import DcrfError, Diagnostic
from ..schema import RANGES, SCHEMES, Cardinality, Enumerated, Label as LabelSpec, Learned, Scheme, read_range, shown
from ..settings import DEFAULT_STAGE, decode_statement, inference_settings, stage_settings
from .checked_stages import running_stages, without_stage_order
from .context import Context, Rule, a, listed


def inference(context: Context) -> Iterator[Diagnostic]:
    spec = context.spec
    yield from _problems(lambda: inference_settings(spec, spans=context.spans))
    yield from _problems(lambda: decode_statement(spec, spans=context.spans))


def stages(context: Context) -> Iterator[Diagnostic]:
    """The stages that run; a broken chain (`training_rules`) must not hide their problems."""
    loose = without_stage_order(context)
    for n in running_stages(context):
        label = loose.stages[n].label if loose.stages else DEFAULT_STAGE.label
        problems = _problems(lambda label=label: stage_settings(loose, label, spans=context.spans))  # type: ignore[misc]
        # a constant whose statement could not be read
        yield from (d for d in problems if d.primary is None or not context.may_be_lost(d.primary.span.text))


def _problems(read: Callable[[], Any]) -> Iterator[Diagnostic]:
    try:
        read()
    except DcrfError as error:
        yield from error.diagnostics


def domains(context: Context) -> Iterator[Diagnostic]:
    for path, variable in context.variables():
        at = (*path, "domain")
        match variable.domain:
            case Enumerated(states=states):
                first: dict[str, int] = {}
                for n, state in enumerate(states):
                    if first.setdefault(state, n) != n:
                        there = [((*at, "states", first[state]), "first here")]
                        message = f"state `{state}` of `{variable.name}` stands twice"
                        yield context.complaint("state-twice", message, (*at, "states", n), "again here", others=there)
            case Cardinality(count=count) if not 1 <= count <= 10_000:
                message = f"`{variable.name}` cannot have {count} states: expected 1 to 10000"
                yield context.complaint("bad-setting", message, at, "expected 1 to 10000")
            case Scheme(name=scheme) if scheme not in SCHEMES:  # in a text, the resolver has reported it
                guess = SCHEMES.suggest(scheme)
                remedy = f"did you mean `{guess}`?" if guess else f"the schemes are {listed(SCHEMES)}"
                message = f"`{scheme}` is not {a(SCHEMES.kind)}"
                yield context.complaint("unknown-name", message, at, "unknown scheme", help=remedy)
            case Scheme(types=types):
                first = {}
                for n, kind in enumerate(types):
                    if first.setdefault(kind, n) != n:
                        message = f"segment type `{kind}` of `{variable.name}` stands twice"
                        there = [((*at, "types", first[kind]), "first here")]
                        yield context.complaint("state-twice", message, (*at, "types", n), "again here", others=there)


def others_state(context: Context) -> Iterator[Diagnostic]:
    """`others` may add a state; one that differs from a declared state by a letter is a slip."""
    for n, label in enumerate(context.spec.labels):
        if label.others is None or isinstance(label.domain, Learned):
            continue
        plain: LabelSpec = label.model_copy(update={"others": None})
        declared = context.declared_states(plain)
        guess = context.guesses.near(label.others, declared or ())
        if declared and label.others not in declared and guess:
            message = f"`{label.others}` is not a state of `{label.name}`"
            remedy = f"did you mean `{guess}`?"
            there = [(("labels", n, "domain"), "its states are declared here")]
            at = ("labels", n, "others")
            yield context.complaint("unknown-state", message, at, "no such state", help=remedy, others=there)


def tuning(context: Context) -> Iterator[Diagnostic]:
    """`tune log(0.1, 1000)`: a known kind of range with valid arguments."""
    for n, let in enumerate(context.spec.lets):
        if let.tune is None:
            continue
        name = let.tune.name
        if name not in RANGES:
            guess = RANGES.suggest(name)
            known = listed(kind.example for kind in RANGES.values())
            remedy = f"did you mean `{guess}`?" if guess else f"write for example {known}"
            message = f"`{name}` is not {a(RANGES.kind)}"
            yield context.complaint("unknown-method", message, ("lets", n, "tune", "name"), "unknown", help=remedy)
        elif read_range(let.tune) is None:
            values = ", ".join(shown(argument.value) for argument in let.tune.arguments)
            message = f"`{name}({values})` is no range: expected {RANGES[name].expected}"
            remedy = f"for example `{RANGES[name].example}`"
            yield context.complaint("bad-argument", message, ("lets", n, "tune"), help=remedy)


RULES: tuple[Rule, ...] = (inference, stages, domains, others_state, tuning)
