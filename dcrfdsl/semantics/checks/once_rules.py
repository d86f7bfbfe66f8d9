"""Rules on `once`: what it binds, and what trains and decodes it.

Not here: which types are bound, and whether they fit into the graph (`semantics.conditions.once_constraint`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from ...foundation import DcrfError, Diagnostic, did_you_mean
from ..conditions import bound_types, once_refusal, searched_runs
from ..schema import Once, Path
from ..settings import MethodSettings, decoding, inference_settings
from .context import LABEL_KINDS, Context, Rule, a, listed
from .name_rules import unknown_names
from .optimizer_rules import stage_views
from .term_rules import UnknownName

EXACT = ("auto", "exact")


def bound_labels(context: Context) -> Iterator[Diagnostic]:
    """`once` stands for a label, and only one of them for each."""
    before: dict[str, Path] = {}
    for n, once in enumerate(context.spec.onces):
        path: Path = ("onces", n, "label")
        if not context.declared.get(once.label):
            yield from unknown_names(context, [UnknownName(once.label, path, LABEL_KINDS[:1])])
        elif context.named(once.label, "label") is None:
            found = context.named(once.label)
            what = "something else" if found is None else a(found.kind)
            message = f"`once` binds a label, and `{once.label}` is {what}"
            yield context.complaint("once-not-a-label", message, path, "not a label", help="name a label")
        elif once.label in before:
            message = f"`once {once.label}` stands twice"
            there = [(before[once.label], "first said here")]
            yield context.complaint("once-twice", message, path, "again", help="join them to one", others=there)
        else:
            before[once.label] = path
            yield from _free(context, once, n, context.states(once.label))


def _free(context: Context, once: Once, number: int, states: tuple[str, ...] | None) -> Iterator[Diagnostic]:
    """What stands after `except` are types, or states."""
    label = context.spec.labels_by_name[once.label]
    if states is None:
        return
    every = bound_types(once.model_copy(update={"free": ()}), label, states)
    for n, name in enumerate(once.free):
        if name not in every:
            guess = did_you_mean(name, every) or did_you_mean(name.partition("-")[2], every)
            message = f"`{once.label}` has no `{name}` that `once` could bind"
            remedy = f"did you mean `{guess}`?" if guess else f"it binds {listed(every)}"
            yield context.complaint("once-unknown-type", message, ("onces", number, "free", n), "unknown", help=remedy)
    if not bound_types(once, label, states):
        message = f"this `once` forbids nothing: all of `{once.label}` may come again"
        words, at = "forbids nothing", ("onces", number)
        yield context.complaint("already-implied", message, at, words, help="remove it", severity="warning")


def exact_inference(context: Context) -> Iterator[Diagnostic]:
    """The rule is on a whole sequence: messages, samples and pruned lists do not keep to it."""
    if not context.spec.onces:
        return
    asked: list[tuple[MethodSettings, Path]] = []
    with suppress(DcrfError):  # `setting_rules` reports it
        asked.append((inference_settings(context.spec), ("infer", "name")))
    asked += [(stage.settings.infer, stage.place("infer")) for stage in stage_views(context) if stage.settings.infer]
    for settings, place in asked:
        if settings.method not in EXACT:
            message = f"`{settings.method}` does not keep to `once {context.spec.onces[0].label}`"
            remedy = "write `exact`, or leave it out: `auto` is exact here"
            others = [(("onces", 0), "the rule")]
            yield context.complaint("once-not-exact", message, place, "not exact", help=remedy, others=others)


def decodable(context: Context) -> Iterator[Diagnostic]:
    """Where types are too many for the graph, decoding has to keep to the rule; local decoding never does."""
    spec = context.spec
    states = {
        item.name: context.states(item.name) for part in (spec.labels, spec.latents, spec.memories) for item in part
    }
    onces = [once for once in spec.onces if context.named(once.label, "label") is not None]
    if not onces or len(onces) < len(spec.onces):
        return
    known = {name: listed for name, listed in states.items() if listed is not None}
    complete = len(known) == len(states)
    if complete and not any(bound_types(once, spec.labels_by_name[once.label], known[once.label]) for once in onces):
        return  # `bound_labels` reports it
    refusal = once_refusal(spec, known) if complete else None
    if refusal is not None:
        at: Path = ("onces", 0)
        yield context.complaint("once-not-exact", refusal.message, at, refusal.label, help=refusal.remedy)
    with suppress(DcrfError):  # `setting_rules` reports it
        rule = decoding(spec, context.stage)
        if rule == "local" or (rule != "joint" and complete and searched_runs(spec, known)):
            message = f"`decode {rule}` does not keep to `once {onces[0].label}`"
            at = ("onces", 0) if spec.decode is None else ("decode",)
            yield context.complaint("once-not-exact", message, at, "not kept", help="write `decode joint`")


RULES: tuple[Rule, ...] = (bound_labels, exact_inference, decodable)
