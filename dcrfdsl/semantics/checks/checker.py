"""The checker: every problem of a template at once, each with its place and, if one is known, a remedy.

    check(load_template("chunker.dcrf"))    -> diagnostics in the order of the text

A rule is a function from a `Context` to diagnostics; there is one file for each family. Other rooms add rules through
`rules`, such as the cost of exact inference. Not here: reading the text, the pages that explain each slug
(`reference`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ...foundation import DcrfError, Diagnostic, Label
from . import (
    clique_rules,
    constraint_rules,
    criterion_rules,
    data_rules,
    idle_rules,
    label_rules,
    name_rules,
    pattern_rules,
    piece_rules,
    pruning_rules,
    run_rules,
    segment_rules,
    setting_rules,
    training_rules,
    variable_rules,
)
from .context import Context as Context, Data as Data, LocatedSpec as LocatedSpec, Rule

# Problems of a file in which there is nothing to check.
NO_MODEL = ("no-template", "foreign-template", "file-too-large")
WITH_BLOCK = ("unindented-line",)  # problems whose secondary places could not be read either
DROPPED = ("declared-twice",)  # problems of statements that were read but left out of the specification

# In this order: of two problems at the same place the first one stays.
RULES: tuple[Rule, ...] = (
    *data_rules.RULES,
    *name_rules.RULES,
    *pattern_rules.RULES,
    *setting_rules.RULES,
    *clique_rules.RULES,
    *variable_rules.RULES,
    *label_rules.RULES,
    *clique_rules.PLACE_RULES,
    *variable_rules.VIEW_RULES,
    *constraint_rules.RULES,
    *setting_rules.DECODING_RULES,
    *training_rules.RULES,
    *piece_rules.RULES,
    *setting_rules.OPTIMIZER_RULES,
    *criterion_rules.RULES,
    *setting_rules.IMPORTANCE_RULES,
    *label_rules.TRAINING_RULES,
    *criterion_rules.MARGIN_RULES,
    *pruning_rules.RULES,
    *criterion_rules.RISK_RULES,
    *data_rules.OCCURRENCE_RULES,
    *segment_rules.RULES,
    *run_rules.RULES,
    *constraint_rules.EXPECTATION_RULES,
)


def check(
    resolved: LocatedSpec,
    *,
    stage: str | None = None,
    corpus: Data | None = None,
    registered: Collection[str] | None = (),
) -> tuple[Diagnostic, ...]:
    """Errors, warnings and notes about a model, including those found by resolving it, in the order of the text.

    `stage`: the training stage that runs (None: the last); others are not checked. `corpus`: training data to check the
    template against. `registered`: names of the user's feature functions; None: not known yet, so that any unknown
    function may be one.
    """
    if any(diagnostic.slug in NO_MODEL for diagnostic in resolved.diagnostics):
        return resolved.diagnostics
    empty = [data_rules.nothing_in(corpus)] if corpus is not None and not len(corpus.lengths()) else []
    context = Context(
        resolved.spec,
        resolved.main_file,
        stage=stage,
        data=None if empty else corpus,
        registered=registered or (),
        functions_known=registered is not None,
        directories=resolved.directories,
        lost=_lost_statements(d for d in resolved.diagnostics if not resolved.complete or d.slug in DROPPED),
    )
    diagnostics = list(resolved.diagnostics)
    for rule in RULES:
        diagnostics.extend(rule(context))
    if not any(diagnostic.severity == "error" for diagnostic in diagnostics):
        # with mistakes in a model, its intended uses are unknown
        for rule in idle_rules.RULES:
            diagnostics.extend(rule(context))
    context.kept.clear()  # its values refer to the context: the model would live until Python looks for cycles
    return tuple(in_order(_once([*diagnostics, *empty])))


def check_or_raise(
    resolved: LocatedSpec,
    *,
    stage: str | None = None,
    corpus: Data | None = None,
    registered: Collection[str] | None = (),
) -> tuple[Diagnostic, ...]:
    """As `check`; raises `DcrfError` with all diagnostics if one is an error, else returns warnings and notes."""
    diagnostics = check(resolved, stage=stage, corpus=corpus, registered=registered)
    if any(diagnostic.severity == "error" for diagnostic in diagnostics):
        raise DcrfError(diagnostics)
    return diagnostics


def _lost_statements(diagnostics: Iterable[Diagnostic]) -> tuple[str, ...]:
    """The text of every statement with a problem: from a line that begins in column 0 to the next such line."""
    texts: dict[tuple[str, int], str] = {}
    inside: set[tuple[str, int]] = set()  # lines of statements already visited
    for place in (place for diagnostic in diagnostics for place in _lost_places(diagnostic)):
        source, first = place.span.source, place.span.line
        if (source.name, first) in inside:
            continue
        while first > 1 and (not source.line(first).strip() or source.line(first)[:1].isspace()):
            first -= 1
        last = first + 1
        while last <= len(source.line_starts) and (not source.line(last) or source.line(last)[:1].isspace()):
            last += 1
        texts[source.name, first] = "\n".join(source.line(n) for n in range(first, last))
        inside.update((source.name, n) for n in range(first, last))
    return tuple(texts.values())


def _lost_places(diagnostic: Diagnostic) -> tuple[Label, ...]:
    """The place of a problem, and the statement whose block it should have been in."""
    if diagnostic.primary is None:
        return ()
    return (diagnostic.primary, *diagnostic.secondary) if diagnostic.slug in WITH_BLOCK else (diagnostic.primary,)


def _once(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """One problem per place: the first."""
    kept: dict[object, Diagnostic] = {}
    for n, diagnostic in enumerate(diagnostics):
        key = n if diagnostic.primary is None else (diagnostic.primary.span, diagnostic.severity == "error")
        kept.setdefault(key, diagnostic)
    return list(kept.values())


def in_order(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """By file, in the order of first appearance, and by place in the file; diagnostics without a place come last."""
    sources = (one.primary.span.source.name for one in diagnostics if one.primary is not None)
    files = {name: n for n, name in enumerate(dict.fromkeys(sources))}

    def key(diagnostic: Diagnostic) -> tuple[int, int]:
        place = diagnostic.primary
        return (len(files), 0) if place is None else (files[place.span.source.name], place.span.start)

    return sorted(diagnostics, key=key)
