"""Rules on the `data` statement, and on a data set checked together with the template.

A state that does not occur in the data has no example: the model never predicts it, and nothing else reports it. Not
here: the columns and options of each format (`data_formats`), facts that training finds (features that never fire, gold
that breaks a constraint), values that are not states, which training refuses (`data.labels`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from ...foundation import Diagnostic, did_you_mean, np, quoted_names, spelling_remedy
from ...syntax import NUMERIC, Column, ColumnType, DataSpec, Expectation, Label, nodes as ex
from ..schema import SCHEMES, ModelSpec, learn_types, plain, read_cell, scheme_states, split_state
from ..settings import SentenceImportance, TokenImportance, stage_settings
from .context import At, Context, Data, Others, Rule, constraint_nodes, every_feature, every_node, listed
from .data_formats import FORMATS, JOINABLE, JOINED, Format


def no_data(context: Context) -> Iterator[Diagnostic]:
    """A template without data or without labels cannot be used by itself."""
    if context.spec == ModelSpec(doc=context.spec.doc) and not context.lost:
        message = "this template is empty: it says neither what is observed nor what is predicted"
        yield context.complaint("no-data", message, None, help="`dcrfdsl new` lists templates to start from")
        return
    if context.lost_statement("use"):
        return  # the declarations of an unreadable file are unknown
    if context.spec.data is None and not context.lost_statement("data"):
        message = "no `data` statement says which columns there are"
        yield context.complaint("no-data", message, None, help="for example `data conll(word, pos, chunk)`")
    if context.unlabelled:
        message = "no `label` says what is to be predicted"
        columns = [column.name for column in (context.spec.data.columns if context.spec.data else ())]
        name, at = next(iter(context.meant_as_labels.items()), (columns[-1] if columns else "NAME", None))
        remedy = f"for example `label {name}`, on a line of its own"
        yield context.complaint("no-label", message, at, "predicted here" if at else "", remedy)


def data_format(context: Context) -> Iterator[Diagnostic]:
    data = context.spec.data
    if data is None:
        return
    if data.format not in FORMATS:
        known = listed(FORMATS)
        remedy = spelling_remedy(FORMATS.suggest(data.format), f"the formats are {known}")
        message = f"`{data.format}` is not a data format"
        yield context.complaint("unknown-format", message, data.place_of("format"), "unknown", remedy)
        return
    entry = FORMATS[data.format]
    for column in data.columns:
        yield from _source(context, data.format, entry, column)
    if entry.last and data.columns:
        yield from _features_last(context, data, entry)
    for option in data.options:
        name, value = option.name or "", plain(option.value)
        if name not in entry.options:
            known = f"its options are {listed(entry.options)}" if entry.options else f"`{data.format}` has no options"
            remedy = spelling_remedy(did_you_mean(name, entry.options), known)
            message = f"`{name}` is not an option of `{data.format}`"
            yield context.complaint("unknown-setting", message, option.place_of("name"), "unknown option", remedy)
            continue
        wanted = entry.options[name]
        if not isinstance(value, str) or not wanted.fits(value):
            message = f"`{value}` is no value for `{name}`: expected {wanted.expected}"
            yield context.complaint("bad-setting", message, option.value, f"expected {wanted.expected}")


def _source(context: Context, name: str, entry: Format, column: Column) -> Iterator[Diagnostic]:
    if column.name in entry.options and column.source != column.name and column.key is None:
        message = f"`{column.name} = {column.source}` names a column, and `{column.name}` is an option of `{name}`"
        remedy = f'an option is a text: `{column.name} = "{column.source}"`'
        yield context.complaint("bad-setting", message, column, "a column", remedy)
    if column.key is not None and column.source not in entry.keyed:
        message = f"`{name}` has no keys to read `{column.name}` from"
        readers = [name for name, other in FORMATS.items() if column.source in other.keyed]
        remedy = f"`{column.source}(…)` reads {listed(readers)}; in other formats a value has a column of its own"
        yield context.complaint("unknown-column", message, column, "no keys here", remedy)
    elif column.source == JOINED and column.key is not None:
        yield from _joined(context, column)
    elif entry.sources is not None and column.source not in entry.sources:
        labels = {label.name for label in context.spec.labels}
        is_label = "spans" in entry.sources and column.name in labels
        guess = "spans" if is_label else did_you_mean(column.source, entry.sources, entry.synonyms)
        example = f"`{column.name}`" if guess == column.name else f"`{column.name} = {guess}`"
        remedy = f"did you mean {example}?" if guess else f"its columns are {listed(entry.sources)}"
        message = f"`{name}` has no column `{column.source}`"
        yield context.complaint("unknown-column", message, column, "no such column", remedy)


def _joined(context: Context, column: Column) -> Iterator[Diagnostic]:
    """`tag = joined("upos xpos feats")`: columns without spaces, so that the values can be split again."""
    parts = (column.key or "").split(" ")
    odd = next((part for part in parts if part not in JOINABLE), None)
    if odd is not None:
        guess = did_you_mean(odd, JOINABLE, FORMATS["conllu"].synonyms)
        remedy = (
            f"did you mean `{guess}`?" if guess in JOINABLE else f"write names with a space between: {listed(JOINABLE)}"
        )
        message = f"`joined` takes columns whose values have no spaces, and `{odd}` is not one of them"
        yield context.complaint("unknown-column", message, column, "cannot be joined", remedy)
    elif len(parts) < 2 or len(set(parts)) < len(parts):
        message = "`joined` takes two or more columns, each once"
        remedy = f'for example `{column.name} = joined("upos feats")`'
        yield context.complaint("bad-argument", message, column, "expected several columns", remedy)


def _features_last(context: Context, data: DataSpec, entry: Format) -> Iterator[Diagnostic]:
    """In these formats a line is labels, then features: the last column has all features."""
    kind = entry.last[0]
    remedy = f"for example `data {data.format}(y, features: {kind})`"
    *labels, features = data.columns
    if features.type.name not in entry.last:
        message = f"the last column of `{data.format}` has all features of a token, and `{features.name}` is no bag"
        yield context.complaint("column-type", message, features, f"needs `{kind}`", remedy)
    for column in labels:
        if column.type.name != "str":
            message = f"`{data.format}` has labels before the features, and `{column.name}` is no column of texts"
            yield context.complaint("column-type", message, column, "needs texts", remedy)
    if not labels or (entry.before is not None and len(labels) > entry.before):
        expected = "one label and" if entry.before else "labels and"
        message = f"`{data.format}` has {expected} one column of features, and this is {len(data.columns)}"
        yield context.complaint("column-count", message, data, help=remedy)


# a data set beside the template ---------------------------------------------------------------------------------


def nothing_in(data: Data) -> Diagnostic:
    """The error about a data set without a token, of which nothing else is said. Warnings of the reader may say why."""
    why = "; ".join(getattr(data, "warnings", ())) or None
    return Diagnostic("empty-file", f"`{data.file}` holds no sentence", location=data.file, help=why)


def labels_of_spans(context: Context) -> Iterator[Diagnostic]:
    """A label that is read from spans has the states of segments: other states would be no spans when tagging."""
    data = context.spec.data
    if data is None:
        return
    of_spans = {column.name: column for column in data.columns if column.source == "spans"}
    for label in context.spec.labels:
        states = label.domain.states if isinstance(label.domain, ex.Enumerated) else ()
        are_marks = all(any(split_state(name, state) is not None for name in SCHEMES) for state in states)
        fits = not isinstance(label.domain, ex.Cardinality) and are_marks
        if label.name in of_spans and data.format == "spans" and not fits:
            message = f"label `{label.name}` is read from spans, and its states mark no segments"
            there: Others = [(of_spans[label.name], "read from spans")]
            remedy = f"`label {label.name} in bio` takes the labels of the spans as types"
            yield context.complaint("not-a-segment", message, label.domain, "no segments", remedy, there)


def missing_columns(context: Context) -> Iterator[Diagnostic]:
    """Columns that the template declares and the data set lacks; a missing label is called one."""
    if context.data is None or context.spec.data is None:
        return
    labels = {label.name: label for label in context.spec.labels}
    for column in context.spec.data.columns:
        if column.name in context.data.columns:
            continue
        if column.name in labels:
            message = f"`{context.data.file}` has no column for the label `{column.name}`, which training needs"
            at, there = labels[column.name].place_of("name"), [(column, "declared here")]
            remedy = "gold labels may be absent only from data that is to be tagged"
            yield context.complaint("missing-label", message, at, "no gold labels", remedy, there)
        else:
            message = f"`{context.data.file}` has no column `{column.name}`"
            present = listed(context.data.columns)
            yield context.complaint("missing-column", message, column, "not in the data", f"it has {present}")


def column_types(context: Context) -> Iterator[Diagnostic]:
    """A column of the data set holds another kind of values than the template declares."""
    if context.data is None or context.spec.data is None:
        return
    for column in context.spec.data.columns:
        column_values = context.data.columns.get(column.name)
        if column_values is None:
            continue
        has, needs = column_values.holds, _words(column.type)
        if column.type.of and getattr(column_values.values, "ndim", 0) == 2:
            continue  # `features` knows the states
        if has != needs:
            message = f"column `{column.name}` of `{context.data.file}` has {has}, and the template declares {needs}"
            yield context.complaint("column-type", message, column, f"declared as {needs}")


def numbers_as_texts(context: Context) -> Iterator[Diagnostic]:
    """Columns of numbers that are declared as texts and are features as they are: a weight for each distinct number."""
    if context.data is None or context.spec.data is None:
        return
    tokens = int(context.data.lengths().sum())
    listed_alone = {
        factor.name
        for _, feature in every_feature(context.spec)
        for factor in (feature.factors if isinstance(feature, ex.Cross) else (feature,))
        if isinstance(factor, ex.Reference)
    }
    for column in context.spec.data.columns:
        if column.type.name != "str" or column.name not in listed_alone or column.name not in context.data.columns:
            continue
        values = context.data.columns[column.name].values
        enough = len(values) >= LEAST_NUMBERS and len(values) >= min(MANY_NUMBERS, tokens / 4)
        if not enough or not isinstance(values[0], str):  # numbers here are reported by another rule
            continue
        spelled = [bool(_NUMBER.fullmatch(value)) for value in values[:MANY_NUMBERS]]
        if sum(spelled) < MOSTLY * len(spelled):
            continue
        kind = "float" if any("." in value for value in values[:MANY_NUMBERS]) else "int"
        gap = "" if all(spelled) else f', and `missing = "{values[spelled.index(False)]}"` for those that are none'
        message = (
            f"column `{column.name}` looks numeric, and is read as texts: {len(values):,} distinct ones are features "
            "of their own"
        )
        remedy = f"declare `{column.name}: {kind}`{gap}, or put the numbers in bins: `bin({column.name}, 4)`"
        yield context.complaint("numbers-as-texts", message, column, "texts", remedy, severity="note")


LEAST_NUMBERS, MANY_NUMBERS = 20, 1000  # distinct texts; more are not looked at
MOSTLY = 0.95
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def _words(column_type: ColumnType) -> str:
    """What a column of the type holds, as the columns of a data set say it."""
    if column_type.name == "weighted_bag":
        return "weighted bags"
    if column_type.of:
        return f"scores of {', '.join(column_type.of)}"
    if column_type.name not in NUMERIC:
        return "texts"
    return "numbers" if column_type.size is None else f"vectors of {column_type.size} numbers"


# states and the data that teaches them --------------------------------------------------------------------------------


SHOWN = 5  # states that a message lists before it counts the others


def unseen_states(context: Context) -> Iterator[Diagnostic]:
    """States, and types of segments, that a label declares and the training data lacks."""
    for label in context.spec.labels:
        states, occurring = context.states(label.name), _occurring(context, label)
        if states is None or occurring is None or isinstance(label.domain, ex.StatesOf):
            continue
        known = frozenset(states)
        have = {text if text in known or label.others is None else label.others for text in occurring}
        types = label.domain.types if isinstance(label.domain, ex.Scheme) else ()
        wanted = types or tuple(state for state in states if state != label.missing)
        states_of: dict[str, Collection[str]] = {one: (one,) for one in wanted}
        if isinstance(label.domain, ex.Scheme):
            states_of = {one: {*scheme_states(label.domain.name, (one,))} - {"O"} for one in wanted}
        absent = [one for one in wanted if have.isdisjoint(states_of[one])]
        if absent:
            yield _unseen(context, label, absent, wanted, occurring)


def _unseen(
    context: Context, label: Label, absent: Sequence[str], wanted: Sequence[str], occurring: Sequence[str]
) -> Diagnostic:
    assert context.data is not None
    what = "type" if isinstance(label.domain, ex.Scheme) else "state"
    few = ", ".join(f"`{one}`" for one in absent[:SHOWN])
    shown = listed(absent) if len(absent) <= SHOWN else f"{few} and {len(absent) - SHOWN} more"
    of = f"of `{label.name}` never {'occurs' if len(absent) == 1 else 'occur'} in `{context.data.file}`"
    message = f"the {what}{'' if len(absent) == 1 else 's'} {shown} {of}"
    others = label.others
    if others is not None and others not in absent and set(absent) >= set(wanted) - {others}:
        where = f"`{context.data.file}`"
        message = f"no value of `{label.name}` in {where} is one that it lists: all are read as `{others}`"
    strange = {*occurring} - {*wanted, others}
    values = [value for value in occurring if value in strange]
    guess = next((near for one in absent[:SHOWN] if (near := did_you_mean(one, values))), None)
    remedy = spelling_remedy(guess, "remove what the data does not have: it is never predicted")
    types = learn_types("bioes", occurring)[0]
    if not isinstance(label.domain, ex.Scheme) and not set(types).isdisjoint(absent):
        remedy = f"the data has segments of these types: write `label {label.name} in bio({', '.join(types)})`"
    return context.warning("unseen-state", message, label.place_of("domain"), "not in the data", remedy)


def one_state(context: Context) -> Iterator[Diagnostic]:
    """A label with a single state: everything is right, and nothing is learned."""
    for label in context.spec.labels:
        states, occurring = context.states(label.name), _occurring(context, label)
        source = "declares"
        if states is None and occurring is not None:
            states, source = _learned(label, occurring), "learns"
        if states is None or len(states) != 1 or context.mentioned_in_lost(label.name):
            continue
        message = f"label `{label.name}` {source} a single state, `{states[0]}`: there is nothing to predict"
        remedy = f"declare the others, as in `label {label.name} in {{A, B}}`"
        if source == "learns" and context.data is not None:
            remedy = f"train on data that has others; `{context.data.file}` may have its values in another column"
        at = label.place_of("domain" if source == "declares" else "name")
        yield context.warning("one-state", message, at, "a single state", remedy)


def unseen_in_constraints(context: Context) -> Iterator[Diagnostic]:
    """States in a constraint that the data does not teach their label; declared states are checked by name."""
    learned: dict[str, tuple[str, ...]] = {}
    for label in context.spec.labels:
        occurring = _occurring(context, label)
        if context.states(label.name) is None and occurring is not None:
            learned[label.name] = _learned(label, occurring) or ()
    told: set[tuple[str, str]] = set()
    for constraint in context.spec.constraints if learned else ():
        for node in constraint_nodes(constraint):
            if not isinstance(node, ex.Is | ex.InSet) or not isinstance(node.term, ex.Reference):
                continue
            known, named = learned.get(node.term.name), (node.state,) if isinstance(node, ex.Is) else node.states
            for state in named if known is not None else ():
                if known and state not in known and (node.term.name, state) not in told:
                    told.add((node.term.name, state))
                    yield _not_learned(context, node.term.name, state, known, node)


def _not_learned(context: Context, label: str, state: str, known: Sequence[str], at: At) -> Diagnostic:
    assert context.data is not None
    message = f"`{label}` is never `{state}` in `{context.data.file}`, so it does not have this state"
    remedy = spelling_remedy(did_you_mean(state, known), f"its states are {', '.join(quoted_names(known, SHOWN))}")
    return context.warning("unseen-state", message, at, "not in the data", remedy)


def _learned(label: Label, occurring: Sequence[str]) -> tuple[str, ...] | None:
    """The states that the data teaches a label without declared states."""
    states: Sequence[str] = ()
    if isinstance(label.domain, ex.Scheme):
        states = scheme_states(label.domain.name, learn_types(label.domain.name, occurring)[0])
    elif isinstance(label.domain, ex.Learned):
        states = occurring
    return tuple(dict.fromkeys((*states, *([] if label.others is None else [label.others])))) or None


def _occurring(context: Context, label: Label) -> Sequence[str] | None:
    """The texts of a label in the data, members of sets included; None without data or a text column, or where another
    column has states as well.
    """
    alone = context.data is not None and label.soft_column is None
    column = context.data.columns.get(label.name) if context.data is not None and alone else None
    if column is None or isinstance(column.values, np.ndarray):
        return None
    states = frozenset(context.states(label.name) or ())
    readings = (read_cell(label, value, states, (label.missing,)) for value in column.values)
    return tuple(dict.fromkeys(text for reading in readings for text in reading))


# columns that prediction does not read --------------------------------------------------------------------------------


def read_columns(spec: ModelSpec) -> tuple[Column, ...]:
    """The columns that some statement reads, without those of labels."""
    nodes = (node for statement, node in every_node(spec) if not isinstance(statement, Expectation))
    read = {node.name for node in nodes if isinstance(node, ex.Reference)}
    read -= {label.name for label in spec.labels}
    return tuple(column for column in (spec.data.columns if spec.data else ()) if column.name in read)


def unread_columns(spec: ModelSpec) -> tuple[str, ...]:
    """The names of the others, labels aside."""
    known = {*(column.name for column in read_columns(spec)), *(label.name for label in spec.labels)}
    return tuple(column.name for column in (spec.data.columns if spec.data else ()) if column.name not in known)


def spare_columns(spec: ModelSpec) -> tuple[str, ...]:
    """The columns of a valid specification that training alone reads, for `importance`, `expect`, or beside labels."""
    counted = {
        node.name for one in spec.expectations for node in constraint_nodes(one) if isinstance(node, ex.Reference)
    }
    counted |= {name for label in spec.labels for name in (label.source, label.soft_column) if name is not None}
    for stage in spec.stages:
        importance = stage_settings(spec, stage.label).importance
        if isinstance(importance, SentenceImportance | TokenImportance):
            counted.update(importance.columns)
    return tuple(name for name in unread_columns(spec) if name in counted) if counted else ()


RULES: tuple[Rule, ...] = (no_data, data_format, labels_of_spans, missing_columns, column_types, numbers_as_texts)


OCCURRENCE_RULES: tuple[Rule, ...] = (one_state, unseen_states, unseen_in_constraints)
