"""Rules on training and evaluation: the chain of stages, pieces, metrics and their arguments.

`METRICS` lists the arguments of each metric, with `?` those that may be left out; the room that computes them has a
table of the same names. Not here: settings of stages (`setting_rules`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ...foundation import DcrfError, Diagnostic, Table, number_text
from ...syntax import NUMERIC, CallSpec, Column, Here, Label, Number, Reference, other_words, shown
from ..schema import SCHEMES, as_call, has_segments, unmarked_state
from ..settings import INFERENCE, stage_chain
from .checked_stages import running_stages, running_statements, stage_views
from .context import COLUMN, At, Context, Rule, a, listed

RUNS = "runs?"  # a word: runs of one state are segments
LABELS = "label*"  # any number of labels, or none


class MetricWords(NamedTuple):
    """A metric of `evaluate`: the words for its arguments, and numbers of which one is given by name, with an example
    and limits.
    """

    takes: tuple[str, ...]
    options: Mapping[str, tuple[float, float, float]] = {}


METRICS: Table[MetricWords] = Table(
    "metric",
    {
        "accuracy": MetricWords(("label",)),
        "joint_accuracy": MetricWords((LABELS,)),
        "sentence_accuracy": MetricWords(("label?",)),
        "segments": MetricWords(("label", RUNS)),
        "events": MetricWords(("label",), {"overlap": (0.5, 0.0, 1.0), "tolerance": (3, 0, 1_000_000)}),
        "sov": MetricWords(("label",)),
        "edit": MetricWords(("label",)),
        "by_state": MetricWords(("label",)),
        "by_type": MetricWords(("label", RUNS)),
        "confusion": MetricWords(("label",)),
        "oov_accuracy": MetricWords(("label", COLUMN)),
        "log_likelihood": MetricWords(()),
        "zero_one_risk": MetricWords(()),
        "hamming_risk": MetricWords(()),
        "rank_risk": MetricWords(()),
    },
    other_words("metric"),
)
_OF_LOG_Z = ("likelihood", "marginal", "induce")  # criteria of sums that need not be exact
_WITH_SCORES = ("log_likelihood", "rank_risk")


def metric_usages(name: str) -> list[str]:
    """How a metric may be written: `segments(label)`, `segments(label, runs)`, `events(label, overlap = 0.5)`."""
    takes, options = METRICS[name]
    if takes == (LABELS,):
        return [name, f"{name}(label, label, …)"]
    if options:
        return [f"{name}({takes[0]}, {option} = {example:g})" for option, (example, *_) in options.items()]
    least = sum(not word.endswith("?") for word in takes)
    calls = (", ".join(word.removesuffix("?") for word in takes[:n]) for n in range(least, len(takes) + 1))
    return [f"{name}({words})" if words else name for words in calls]


def fits_metric(call: CallSpec) -> bool:
    """Whether a metric may have these arguments: their number, the words that follow the first, and its option."""
    takes, options = METRICS[call.name].takes, METRICS[call.name].options
    given = [shown(argument.value) for argument in call.arguments if argument.name is None]
    named = [argument for argument in call.arguments if argument.name is not None]
    if len(named) != bool(options) or not all(argument.name in options for argument in named):
        return False
    if takes == (LABELS,):
        return len(given) != 1 and len({*given}) == len(given)
    least = sum(not word.endswith("?") for word in takes)
    words = zip(takes[1:], given[1:], strict=False)
    return least <= len(given) <= len(takes) and all(w.removesuffix("?") == one for w, one in words if w.endswith("?"))


def stage_names(context: Context) -> Iterator[Diagnostic]:
    """The stage that runs, and those before it, exist and do not form a cycle."""
    try:
        stage_chain(context.spec, context.stage)
    except DcrfError as error:
        yield from (d for d in error.diagnostics if d.primary is None or not context.may_be_lost(d.primary.span.text))


def pieces(context: Context) -> Iterator[Diagnostic]:
    """The pieces named by a running `piecewise`."""
    for stage in running_statements(context):
        for argument in stage.criterion.arguments if stage.criterion.name == "piecewise" else ():
            value = argument.value
            if argument.name is not None or not isinstance(value, Reference) or context.named(value.name, "piece"):
                continue
            if context.may_be_lost(value.name):
                continue
            guess, there = context.near(value.name, ["piece"])
            remedy = f"did you mean `{guess}`?" if guess else "a piece is declared by `piece NAME over SITES: CLIQUES`"
            message = f"there is no piece `{value.name}`"
            yield context.complaint("unknown-piece", message, value, "no such piece", remedy, there)


def induction(context: Context) -> Iterator[Diagnostic]:
    """`induce(likelihood)`, over a group that some clique lists."""
    for stage in running_statements(context):
        if stage.criterion.name == "induce":
            yield from _induction(context, stage.criterion)


def _induction(context: Context, call: CallSpec) -> Iterator[Diagnostic]:
    for argument in call.arguments:
        value = argument.value
        if argument.name is None and not (isinstance(value, Reference) and value.name == "likelihood"):
            message = f"`induce` judges features by the likelihood, not by `{shown(value)}`"
            yield context.complaint("bad-argument", message, argument, "not by this", "write `induce(likelihood)`")
    groups = [one.value for one in call.arguments if one.name == "group"]
    groups += [one.value for one in call.settings if one.key == ("group",)]
    for value in groups:
        name = shown(context.spec.settled(value))
        is_group = context.named(name, "feature group") is not None
        if context.may_be_lost(name) or (
            is_group
            and any(
                isinstance(feature, Reference) and feature.name == name
                for clique in context.spec.cliques
                for feature in clique.features
            )
        ):
            continue
        guess, there = (None, []) if is_group else context.near(name, ["feature group"])
        remedy = f"did you mean `{guess}`?" if guess else "name a feature group that stands in the list of a clique"
        what = f"the feature group `{name}`" if is_group else f"a feature group `{name}`"
        message = f"no clique lists {what}, so there is nothing to cross"
        yield context.complaint("unknown-name", message, value, "in no clique", remedy, there)


def log_z(context: Context) -> Iterator[Diagnostic]:
    """Training and some metrics need log Z, which sampling does not give."""
    spec = context.spec
    for n in running_stages(context):
        method: tuple[str, At] = (spec.infer.name, spec.infer.place_of("name"))
        for stage in spec.stages[n : n + 1]:
            for setting in stage.criterion.settings:
                stage_inference = as_call(spec.settled(setting.value)) if setting.key == ("infer",) else None
                if stage_inference is not None:
                    method = stage_inference.name, setting.value
        yield from _without_log_z(
            context, *method, "so nothing can be trained by it", "write `infer = trp` in the stage"
        )
    for call in spec.evaluate:
        if call.name in _WITH_SCORES:
            why = f"which `{call.name}` needs"
            yield from _without_log_z(context, spec.infer.name, call, why, "leave the metric out")


def _without_log_z(context: Context, method: str, at: At, why: str, remedy: str) -> Iterator[Diagnostic]:
    if method in INFERENCE and not INFERENCE[method].gives_log_z:
        able = listed(name for name, settings in INFERENCE.items() if settings.gives_log_z)
        message = f"`{method}` gives no log Z, {why}"
        yield context.complaint("no-log-z", message, at, "no log Z", f"{remedy}; log Z is given by {able}")


def lower_bounds(context: Context) -> Iterator[Diagnostic]:
    """Mean field may put log Z below the score of the gold labelling, and has many fixed points to jump between."""
    for stage in stage_views(context):
        if stage.criterion not in _OF_LOG_Z:
            continue
        method, place = stage.inference
        if method != "mean_field":
            continue
        message = f"`{stage.criterion}` is trained by a lower bound on log Z, which may jump: its weights may be poor"
        remedy = "write `infer = exact` in the stage, or `infer = trw`, an upper bound, and keep this for tagging"
        yield context.warning("lower-bound", message, place, "a lower bound", remedy, stage.of_criterion)


# evaluation -----------------------------------------------------------------------------------------------------


def metrics(context: Context) -> Iterator[Diagnostic]:
    for call in context.spec.evaluate:
        if call.name not in METRICS:
            guess = METRICS.suggest(call.name)
            labels = [label.name for label in context.spec.labels]
            whole = f"{guess}({labels[0]})" if guess and METRICS[guess].takes[:1] == ("label",) and labels else guess
            remedy = f"did you mean `{whole}`?" if guess else f"the metrics are {listed(METRICS)}"
            message = f"`{call.name}` is not a metric"
            yield context.complaint("unknown-metric", message, call.place_of("name"), "unknown", remedy)
            continue
        yield from _metric_arguments(context, call)


def _metric_arguments(context: Context, call: CallSpec) -> Iterator[Diagnostic]:
    wanted = METRICS[call.name].takes
    usages = metric_usages(call.name)
    usage = " or ".join(f"`{one}`" for one in usages) if wanted else f"`{call.name}` alone"
    unnamed = [argument for argument in call.arguments if argument.name is None]
    given = [shown(argument.value) for argument in unnamed]
    if wanted == (LABELS,) and len({*given}) < len(given):
        twice = next(name for n, name in enumerate(given) if name in given[:n])
        message = f"`{call.name}` names `{twice}` twice"
        yield context.complaint("bad-argument", message, call, "named twice", "name each label once")
        return
    if not fits_metric(call):
        labels = [label.name for label in context.spec.labels]
        takes_label = wanted[:1] == ("label",) and len(usages[0].split(",")) == 1
        example = f"write `{call.name}({labels[0]})`" if takes_label and labels else f"write {usage}"
        number = len(call.arguments)
        message = f"`{call.name}` with {number} argument{'' if number == 1 else 's'}: expected {usage}"
        yield context.complaint("bad-argument", message, call, f"expected {usage}", example)
        return
    for option, (_, low, high) in METRICS[call.name].options.items():
        for written in (one.value for one in call.arguments if one.name == option):
            if not isinstance(written, Number) or not low <= written.value <= high:
                expected = f"a number from {number_text(low)} to {number_text(high)}"
                message = f"`{shown(written)}` is no value for `{option}`: expected {expected}"
                yield context.complaint("bad-argument", message, written, f"expected {expected}")
    runs = RUNS in wanted and len(given) == len(wanted)
    words = [LABELS] * len(given) if wanted == (LABELS,) else wanted
    for word, argument in zip(words, unnamed, strict=False):
        value, kind = argument.value, word.rstrip("?*")
        if word == RUNS:
            continue
        if not isinstance(value, Reference) or value.place != Here():
            message = f"`{call.name}` takes the name of {a(kind)}"
            yield context.complaint("bad-argument", message, value, f"expected {a(kind)}", f"write {usage}")
        elif kind == "label" and context.named(value.name, "view") is not None:
            continue  # a view of a label: what its states are is known with the data
        elif context.named(value.name, kind) is None:
            yield from not_measurable(context, call.name, value.name, kind, value)
        elif kind == COLUMN:
            entry = context.named(value.name, COLUMN)
            if entry is not None and isinstance(entry.entry, Column) and entry.entry.type.name in NUMERIC:
                message = (
                    f"`{call.name}` asks which values training has seen, and `{value.name}` is a column of numbers"
                )
                yield context.complaint("not-a-text", message, value, "needs texts")
        elif runs:
            yield from _needs_no_marks(context, value.name, value, call.name)
        elif RUNS in wanted:
            yield from needs_segments(context, value.name, value, call.name)


def not_measurable(context: Context, metric: str, name: str, kind: str, at: At) -> Iterator[Diagnostic]:
    entry = context.named(name)
    without_label = name in context.meant_as_labels or (context.unlabelled and kind == "label")
    if context.may_be_lost(name) or (without_label and entry is not None):
        return
    if entry is None:
        guess, there = context.near(name, [kind])
        message = f"`{name}` is not {a(kind)}"
        known = context.names(kind)
        remedy = f"did you mean `{guess}`?" if guess else f"the {kind}s are {listed(known)}" if known else None
        yield context.complaint("unknown-name", message, at, "unknown name", remedy, there)
        return
    message = f"`{name}` is {a(entry.kind)}, and `{metric}` measures {a(kind)}"
    there = [(entry.place, f"declared as {a(entry.kind)} here")]
    hidden = entry.kind in ("latent variable", "memory")
    remedy = "only labels have gold values to be measured by" if hidden else None
    yield context.complaint("wrong-kind", message, at, a(entry.kind), remedy, there)


def _needs_no_marks(context: Context, name: str, at: At, metric: str) -> Iterator[Diagnostic]:
    """Runs of `B-X` and of `I-X` would be segments of two types."""
    states = _states_or_values(context, name)[0]
    if has_segments(states):
        message = f"`runs` is for states without marks, and `{name}` marks its segments by `{states[0]}` and the like"
        yield context.complaint("bad-argument", message, at, "has marks", f"write `{metric}({name})`")


def needs_segments(
    context: Context, name: str, at: At, metric: str, otherwise: str = "accuracy({})"
) -> Iterator[Diagnostic]:
    """Legal if every state is O or the mark of a segment, declared or learned.   otherwise: what counts labels."""
    entry = context.named(name, "label")
    states, source = _states_or_values(context, name)
    odd = unmarked_state(states)
    if odd is None or entry is None:
        return
    message = f"`{metric}({name})` needs segments, and `{name}` has the {source} `{odd}`"
    schemes = listed([f"{scheme}(…)" for scheme in SCHEMES], "or")
    remedy = (
        f"states are `O` and marks such as `B-X` and `I-X`, as in {schemes}; for other labels use "
        f"`{otherwise.format(name)}`"
    )
    if metric in METRICS:
        remedy += f", or `{metric}({name}, runs)`, where a run of one state is a segment"
    there = [(entry.entry.place_of("domain"), "its states are declared here")] if source == "state" else []
    yield context.complaint("no-segments", message, at, "no segments", remedy, there)


def _states_or_values(context: Context, name: str) -> tuple[list[str], str]:
    """The declared states of a label, else the values of its column, without the missing one; and which they are."""
    entry = context.named(name, "label")
    assert entry is not None and isinstance(entry.entry, Label)
    states, source = context.states(name), "state"
    if states is None and context.data is not None and name in context.data.columns:
        states, source = tuple(getattr(context.data.columns[name], "values", ())), "value"
    return [state for state in states or () if isinstance(state, str) and state != entry.entry.missing], source


RULES: tuple[Rule, ...] = (stage_names, pieces, induction, log_z, lower_bounds, metrics)
