"""Fragments of the language that stand outside of a template: `--set PATH=VALUE`, and events.

The grammar of the language reads both, so `train.optimizer=lbfgs(max_iterations=15)` has its meaning in a file.
Problems point into the text as it was typed.

PATH is the name of a constant, `infer` or `decode`, `infer.KEY`, `train.KEY` (the stage that runs) or `STAGE.KEY`,
with a warning if that stage neither runs nor comes before the one that does. An event is a condition such as
`y[3] is B-LOC and y[4] is I-LOC`. Not here: what the condition means there (`model.label_events`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ...foundation import DcrfError, Diagnostic, Label, Source, Span, dataclass, did_you_mean
from ...syntax import Constraint, Let, Stage, nodes as ex, parse_partial
from ..schema import as_call
from .draft import Draft

_LET = "let value = "
_MINUS_INFINITY = re.compile(r"-\s*inf\b")
_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


@dataclass(frozen=True)
class Override:
    """One `--set`, parsed: `source` holds the argument, in which the value has its place; its `=` is at `split`."""

    path: tuple[str, ...]
    value: ex.Value
    source: Source
    split: int

    @property
    def path_span(self) -> Span:
        return Span(self.source, 0, self.split)


def _moved(span: Span, source: Source, split: int) -> Span:
    """From the parsed text to the argument."""
    shift = split + 1 - len(_LET)
    return Span(source, max(0, span.start + shift), min(len(source.text), max(0, span.end + shift)))


def read_override(text: str) -> Override | Diagnostic:
    """Splits and parses one `PATH=VALUE`; a diagnostic if it does not have that form."""
    source = Source("--set", text)
    path, equals, value = text.partition("=")
    whole = Label(Span(source, 0, len(text)))
    if not equals or not _PATH.fullmatch(path.strip()) or not value.strip() or "\n" in text or "\r" in text:
        remedy = "for example `--set train.optimizer=lbfgs(max_iterations=15)`"
        return Diagnostic("bad-override", f"expected `PATH=VALUE`, found `{text}`", whole, help=remedy)
    template, problems = parse_partial(_LET + value + "\n", "--set")
    match template.statements:
        case (Let(value=parsed, tune=None),) if not problems:
            there = ex.relocated(parsed, lambda span: _moved(span, source, len(path)))
            return Override(tuple(path.strip().split(".")), there, source, len(path))
    for problem in problems:
        if problem.slug == "number-too-large" and problem.primary is not None:
            there = replace(problem.primary, span=_moved(problem.primary.span, source, len(path)))
            return replace(problem, primary=there)
    place = Label(Span(source, len(path) + 1, len(text)), "not a value of the language")
    remedy = 'values are numbers, names, `"text"` and calls such as `gaussian(variance = 10)`'
    if _MINUS_INFINITY.search(value):
        remedy = "there is `inf`, and nothing takes `-inf`"
    return Diagnostic("bad-override", f"cannot read the value of `{path.strip()}`", place, help=remedy)


def apply_override(draft: Draft, override: Override, stage: str | None) -> None:
    """Changes the draft; reports a path that leads nowhere. `stage` is the stage that runs, None: the last one."""
    match override.path:
        case ("infer" | "decode" as field,) | ("infer" as field, "method"):
            _set_method(draft, override, field)
        case ("infer", key):
            draft.set("infer", _with_setting(draft.single("infer") or ex.CallSpec(name="auto"), (key,), override))
        case (name,):
            _set_constant(draft, override, name)
        case (name, *key):
            _set_stage(draft, override, name, tuple(key), stage)


def _set_method(draft: Draft, override: Override, field: str) -> None:
    call = as_call(override.value)
    if call is None:
        place = Label(Span(override.source, override.split + 1, len(override.source.text)))
        message = f"`{field}` is set to a method, as in `{field}={_EXAMPLES[field]}`"
        draft.problems.append(Diagnostic("bad-override", message, place))
        return
    draft.set(field, call)


_EXAMPLES: Mapping[str, str] = {"infer": "trp(tolerance=1e-4)", "decode": "marginal"}


def _set_constant(draft: Draft, override: Override, name: str) -> None:
    for n, let in enumerate(draft.entries("lets")):
        if let.name == name:
            # A value from the command line is not tuned.
            draft.replace(n, let.model_copy(update={"value": override.value, "tune": None}))
            return
    _unknown(draft, override, name)


def _set_stage(draft: Draft, override: Override, name: str, key: tuple[str, ...], running: str | None) -> None:
    stages = [stage for stage in draft.entries("stages") if isinstance(stage, Stage)]
    if name == "train" and not stages:
        stages = [Stage(criterion=ex.CallSpec(name="likelihood"))]
        draft.add(stages[0])
    wanted = (running or stages[-1].label) if name == "train" else name
    for n, stage in enumerate(stages):
        if stage.label == wanted:
            criterion = _with_setting(stage.criterion, key, override)
            draft.replace(n, stage.model_copy(update={"criterion": criterion}))
            _warn_if_idle(draft, override, stage.label, stages, running or stages[-1].label)
            return
    if name != "train":  # an unknown stage to run is reported where the stage is chosen
        _unknown(draft, override, name)


def _warn_if_idle(draft: Draft, override: Override, name: str, stages: Sequence[Stage], running: str) -> None:
    """Warns of a setting without effect: its stage neither runs nor comes before the one that does."""
    before = {stage.label: stage.after for stage in stages}
    chain: list[str] = []
    at: str | None = running
    while at in before and at not in chain:
        chain.append(at)
        at = before[at]
    if name in chain or not chain:
        return
    last = f"`train.{'.'.join(override.path[1:])}` sets `{running}`, which runs"
    remedy = f"run it with `--stage {name}`; {last}"
    message = f"stage `{name}` does not run, so `{override.source.text}` changes nothing"
    label = Label(override.path_span, "does not run")
    draft.problems.append(Diagnostic("idle-override", message, label, help=remedy, severity="warning"))


def _with_setting(call: ex.CallSpec, key: tuple[str, ...], override: Override) -> ex.CallSpec:
    """`call` with one argument or setting replaced, or added to the settings of its block."""
    arguments, settings = list(call.arguments), list(call.settings)
    place = override.path_span
    for n, argument in enumerate(arguments):
        if (argument.name,) == key:
            arguments[n] = ex.Argument(value=override.value, name=argument.name).at(place, name=place)
            return call.model_copy(update={"arguments": tuple(arguments)})
    n = next((n for n, setting in enumerate(settings) if setting.key == key), len(settings))
    settings[n : n + 1] = [ex.Setting(key=key, value=override.value).at(place, key=place)]
    return call.model_copy(update={"settings": tuple(settings)})


def _unknown(draft: Draft, override: Override, name: str) -> None:
    lets = [let.name for let in draft.entries("lets") if let.name]
    stages = [stage.label for stage in draft.entries("stages") if isinstance(stage, Stage)]
    if name in ("train", *stages):  # without a key
        value = override.source.text[override.split + 1 :].strip()
        remedy = f"write a stage `train {value} as NAME` in the template, and run it with `--stage NAME`"
        message = f"`{name}` cannot be set: the criterion of a stage stands in the template; `{name}.KEY` is a setting"
        draft.problems.append(Diagnostic("bad-override", message, Label(override.path_span, "a stage"), help=remedy))
        return
    guess = did_you_mean(
        name, ["infer", "decode", "train", *lets, *stages], {"inference": "infer", "training": "train"}
    )
    known = ["infer", "infer.KEY", "decode", "train.KEY", *(f"{stage}.KEY" for stage in stages), *lets]
    listed = ", ".join(f"`{path}`" for path in known)
    remedy = f"what can be set: {listed}"
    if guess:
        remedy = f"did you mean `{guess}`?\n{remedy}"
    what = "constant" if len(override.path) == 1 else "stage"
    label = Label(override.path_span, f"no such {what}")
    message = f"`{'.'.join(override.path)}` cannot be set: there is no {what} `{name}`"
    draft.problems.append(Diagnostic("bad-override", message, label, help=remedy))


# events ---------------------------------------------------------------------------------------------------------

_REQUIRE = "require "
_EVENT = "for example `y[3] is B-LOC and y[4] is I-LOC`, with positions from 1"


def event_problem(
    place: ex.Node | Span, slug: str, message: str, words: str = "", help: str | None = None
) -> DcrfError:
    """The error about a part of an event."""
    span = place if isinstance(place, Span) else place.span
    return DcrfError(Diagnostic(slug, message, Label(span, words), help=help))


def read_event(text: str) -> ex.Condition:
    """The condition of a text, in which its parts have their places. DcrfError with every mistake in it."""
    text, name = text.strip(), "event"  # which stands in messages for that of a file
    source = Source(name, text)

    def into_event(span: Span) -> Span:
        start, end = (min(len(text), max(0, at - len(_REQUIRE))) for at in (span.start, span.end))
        return Span(source, start, end)

    if "\n" in text or "\r" in text or not text:
        raise _no_event(source, "has several lines" if text else "is empty")
    template, problems = parse_partial(f"{_REQUIRE}{text}\n", name)
    if problems:
        raise DcrfError([_in_event(problem, into_event) for problem in problems])
    match template.statements:
        case (Constraint(action="require", when=None, name=None, condition=condition),):
            placed: ex.Condition = ex.relocated(condition, into_event)
            return placed
    raise _no_event(source, "is not one condition")


def _no_event(source: Source, why: str) -> DcrfError:
    label = Label(Span(source, 0, len(source.text)))
    return DcrfError(Diagnostic("bad-event", f"the event {why}", label, help=_EVENT))


def _in_event(problem: Diagnostic, into_event: Callable[[Span], Span]) -> Diagnostic:
    """A problem of the parsed text as one of the event."""

    def moved(label: Label) -> Label:
        return replace(label, span=into_event(label.span))

    primary = None if problem.primary is None else moved(problem.primary)
    return replace(problem, primary=primary, secondary=tuple(map(moved, problem.secondary)))
