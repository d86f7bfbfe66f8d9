"""Rules on labels as they come: distributions (`soft`), and sources that annotate a part (`source`, `covers`).

Not here: marks of unknown values (`variable_rules`), the cells of a data set (`data.label_columns`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...foundation import Diagnostic, spelling_remedy
from ...syntax import Column, Enumerated, Label, Scheme
from .. import settings
from ..schema import BETWEEN, covered, unmarked
from .checked_stages import stage_views
from .context import COLUMN, Context, Rule, listed

TAKE_SOFT = (settings.LikelihoodSettings, settings.MarginalSettings, settings.PieceSettings)


def soft_cells(context: Context) -> Iterator[Diagnostic]:
    """The mark of `soft`, or the column of probabilities that it names."""
    for label in context.spec.labels:
        at, name = label.place_of("soft"), label.soft_column
        if label.soft is None or (name is not None and context.may_be_lost(name)):
            continue
        entry = None if name is None else context.named(name, COLUMN)
        declared = f"`{name}: scores({label.name})`"
        if label.per == "sentence" or label.source is not None:
            what = "a label of sentences" if label.per == "sentence" else "a label with `source`"
            message = f"`soft` is not for {what}, as `{label.name}` is"
            yield context.complaint("soft-labels", message, at, "not here", "write a state in each cell")
        elif name is None and label.soft in ("", label.missing, label.ambiguous or BETWEEN):
            message = f"`{label.soft}` cannot stand between a state of `{label.name}` and its weight"
            remedy = 'choose another mark, for example `soft = ":"`'
            yield context.complaint("mark-taken", message, at, "means something else", remedy)
        elif name is not None and entry is None:
            message = f"there is no column `{name}`, which `soft` of `{label.name}` names"
            remedy = f"declare {declared} in `data`, or quote a mark between state and weight"
            yield context.complaint("unknown-name", message, at, "no such column", remedy)
        elif entry is not None and isinstance(entry.entry, Column) and entry.entry.type.of != (label.name,):
            message = f"`{name}` does not hold a number for each state of `{label.name}`, which `soft` takes"
            there = [(entry.place, "declared here")]
            yield context.complaint("wrong-kind", message, at, "no probabilities", f"declare it as {declared}", there)
        elif entry is not None and label.missing is None:
            message = f"`{name}` holds where `{label.name}` itself is missing, and nothing marks that"
            remedy = 'add `missing = "_"`, and write `_` where only the probabilities are known'
            yield context.complaint("soft-labels", message, at, "where is it missing?", remedy)


def soft_training(context: Context) -> Iterator[Diagnostic]:
    """What can be trained on distributions, and on what kinds of models."""
    for label in [label for label in context.spec.labels if label.soft is not None][:1]:
        there = [(label.place_of("soft"), "distributions here")]
        what = f"one state of each label, and `{label.name}` may have distributions"
        for latent in context.spec.latents[:1]:
            message = f"`{latent.name}` is summed out, which means over distributions of `{label.name}` do not allow"
            remedy = "leave it out, or write one state in each cell"
            yield context.complaint("soft-labels", message, latent.place_of("name"), "latent", remedy, there)
        for stage in stage_views(context):
            criterion, importance = stage.settings.criterion, stage.settings.importance
            nota = isinstance(criterion, settings.PieceSettings) and criterion.nota
            if not isinstance(criterion, TAKE_SOFT):
                remedy = "train by `likelihood`, `marginal`, `pseudolikelihood` or `piecewise`"
                message = f"`{stage.criterion}` takes {what}"
                yield context.complaint("soft-labels", message, stage.name, "takes no distribution", remedy, there)
            elif getattr(criterion, "cost", None) is not None:
                at, remedy = stage.place("cost"), "leave out `cost`, or write one state in each cell"
                yield context.complaint("soft-labels", f"a `cost` takes {what}", at, "of which state?", remedy, there)
            elif nota or (isinstance(criterion, settings.PieceSettings) and context.spec.memories):
                message = f"pieces with {'`nota`' if nota else 'a memory'} take {what}"
                yield context.complaint("soft-labels", message, stage.name, "pieces", "train by `likelihood`", there)
            if isinstance(importance, settings.StateImportance) and importance.labels == (label.name,):
                message = f"`importance` goes by {what}"
                at, remedy = stage.place("importance"), "write `importance = tokens(COLUMN)`"
                yield context.complaint("soft-labels", message, at, "no state", remedy, there)


def sources(context: Context) -> Iterator[Diagnostic]:
    """`source` names a column of texts, and `covers` says of each source what it annotates."""
    for label in context.spec.labels:
        source, at, source_at = label.source, label.place_of("covers"), label.place_of("source")
        written = {option.key for option in label.written_parts().get("with", ())}
        if source is not None and label.covers:
            entry = context.named(source, COLUMN)
            if entry is None and not context.may_be_lost(source):
                guess, there = context.near(source, [COLUMN])
                message = f"there is no column `{source}`, which says who annotated `{label.name}`"
                remedy = spelling_remedy(guess, f"add `{source}` to the `data` statement")
                yield context.complaint("unknown-name", message, source_at, "no such column", remedy, there)
            elif entry is not None and isinstance(entry.entry, Column) and entry.entry.type.name != "str":
                message = f"`{source}` is a column of `{entry.entry.type.name}`, and `source` names texts"
                yield context.complaint("wrong-kind", message, source_at, "no texts", "declare it without a type")
            yield from _covered_types(context, label)
        elif (source is not None or label.covers) and not {("source",), ("covers",)} <= written:
            lacking, found = ("source", at) if source is None else ("covers", source_at)
            message = f"`{label.name}` has no `{lacking}`, without which the other option says nothing"
            remedy = 'write both: `source = COLUMN, covers = types("A: X Y", "B: all")`'
            yield context.complaint("bad-setting", message, found, f"needs `{lacking}`", remedy)


def _covered_types(context: Context, label: Label) -> Iterator[Diagnostic]:
    at = label.place_of("covers")
    if unmarked(label) is None:
        message = f"nothing tells which state of `{label.name}` a source writes where it marks nothing"
        remedy = "name it: `with others = STATE`, or take a scheme of segments, as `in bio`"
        yield context.complaint("bad-setting", message, at, "which state hides others?", remedy)
    try:
        of_source = covered(label)
    except ValueError as error:
        message = f'`"{error}"` does not say, or says again, what a source annotates'
        remedy = 'write each source once: `"SOURCE: TYPE TYPE"`, or `"SOURCE: all"`'
        yield context.complaint("bad-argument", message, at, "in this option", remedy)
        return
    known = label.domain.types if isinstance(label.domain, Scheme) else ()
    if isinstance(label.domain, Enumerated):
        known = tuple(state for state in label.domain.states if state != label.others)
    named = dict.fromkeys(one for types in of_source.values() for one in types or ())
    for one in named if known else ():
        if one not in known:
            remedy = spelling_remedy(context.guesses.near(one, known), f"they are {listed(known[:12])}")
            message = f"`{one}` in `covers` is no type of `{label.name}`"
            yield context.complaint("unknown-state", message, at, "no such type", remedy)
    for one in known if None not in of_source.values() else ():
        if one not in named:
            message = f"no source covers `{one}` of `{label.name}`, so nothing teaches it"
            remedy = f"add `{one}` to the sources that annotate it, or leave it out of the states"
            yield context.complaint("uncovered-type", message, at, "it is not here", remedy)


RULES: tuple[Rule, ...] = (soft_cells, sources)
TRAINING_RULES: tuple[Rule, ...] = (soft_training,)
