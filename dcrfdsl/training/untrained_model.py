"""What a specification and training data determine before training: states, gold labels, features, graph.

    data -> states, gold labels -> features (alphabet locks) -> templates, graph -> known labels of every variable

Training, the cost table and the drawing of graphs begin here. What does not fit is said here too: gold labels that
break a constraint, segments that are too long, a view that prunes and has one state. Not here: weights
(`graph.parameters`), inference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from .. import data, semantics
from ..criteria import NumberColumns, TrainingProblem, gradient_runs, with_learned_sweeps
from ..features import (
    Candidates,
    FeatureExtractor,
    FeatureRows,
    Lexicons,
    Pairs,
    RegisteredFeature,
    load_lexicons,
    view_label,
    view_map,
    with_mapped_views,
)
from ..foundation import Diagnostic, Floats, Ints, data_error, dataclass, quoted_names
from ..graph import (
    Gold,
    ModelGraph,
    Parameters,
    bounded_runs,
    broken_instances,
    complete_sentences,
    constraint_templates,
    instances_of,
    known_segments,
    learn_parameters,
    rows_of_lengths,
    segment_shape,
)
from ..inference import Workers, refuse_fscore
from ..model import gold_of
from ..syntax import DataSpec, label_at, statement_text
from .size_limits import naming_statements, refuse_too_large


def gold_segments(
    spec: semantics.ModelSpec, states: Mapping[str, Sequence[str]], corpus: data.Corpus, labels: data.EncodedLabels
) -> dict[int, Candidates]:
    """The segments of each `segment` statement, by the number of its clique, in sentences whose labels are all known.

    DcrfError where one is longer than the statement allows.
    """
    found, complaints = {}, []
    for number, clique in enumerate(spec.cliques):
        if not clique.segmental:
            continue
        label = clique.sites[0].variable
        shape = segment_shape(spec, clique, states[label])
        codes = labels.codes[[one.name for one in spec.labels].index(label)]
        complete = complete_sentences(codes < 0, corpus.sentence_off)
        known = known_segments(shape, codes, complete, corpus.sentence_off)
        found[number] = known.candidates(shape.limit)
        least = semantics.shortest_segment(spec, clique)
        shorter = np.flatnonzero(known.length < least)
        if len(shorter):
            tokens, fewest = known.start[shorter], int(known.length.min())
            message = (
                f"{len(shorter):,} of {len(known.start):,} segments of `{label}` are shorter than {least} tokens "
                f"({data.places(corpus, tokens)}); the shortest has {fewest}"
            )
            location, remedy = f"{corpus.file}:{corpus.token_line[tokens[0]]}", f"write `from {fewest}`"
            complaints.append(Diagnostic("segment-too-short", message, location=location, help=remedy))
        longer = np.flatnonzero(known.length > shape.limit)
        if len(longer) and not shape.together:
            tokens, longest = known.start[longer], int(known.length.max())
            message = (
                f"{len(longer):,} of {len(known.start):,} segments of `{label}` are longer than {shape.limit} tokens "
                f"({data.places(corpus, tokens)}); the longest has {longest}"
            )
            location = f"{corpus.file}:{corpus.token_line[tokens[0]]}"
            remedy = f"write `up to {longest}`, or `with longer = together`: all of them with one length"
            complaints.append(Diagnostic("segment-too-long", message, location=location, help=remedy))
    data.raise_if_any(complaints)
    return found


def idle_guides(spec: semantics.ModelSpec, states: Mapping[str, Sequence[str]]) -> Iterator[Diagnostic]:
    """A warning for each view of one state that prunes.   states: of every label."""
    settings = [(semantics.inference_settings(spec), spec.infer.span)]
    settings += [
        (own, stage.span)
        for stage in spec.stages
        if (own := semantics.stage_settings(spec, stage.label).infer) is not None
    ]
    seen = {
        view.name: view_map(spec, view, states[label]).states
        for view in spec.views
        if (label := view_label(spec, view)) is not None
    }
    for asked, place in settings:
        if not isinstance(asked, semantics.PrunedSettings) or asked.by is None or len(seen.get(asked.by, "ab")) > 1:
            continue
        others = [name for name, values in seen.items() if len(values) > 1]
        instead = f"write `by = {others[0]}`, a view with {len(seen[others[0]]):,} states, or " if others else ""
        yield Diagnostic(
            "idle-guide",
            f"`pruned` goes by the view `{asked.by}`, which has one state in this data, "
            f"{quoted_names(seen[asked.by])[0]}: what neighbours tell does not decide which labels survive",
            label_at(place, "one state"),
            help=f"{instead}leave out `by`",
            severity="warning",
        )


ALONE = Workers(1)
MOST_TYPES = 5  # named in a message


@dataclass(frozen=True, eq=False)
class UntrainedModel:
    """A model and its training data, without weights.

    states: of every variable.   rows: of each feature set: first those of the cliques, then the codes that hard
    constraints read.   relations: pairs of each relational clique, by its number.
    """

    spec: semantics.ModelSpec
    corpus: data.Corpus
    states: Mapping[str, tuple[str, ...]]
    lexicons: Lexicons
    extractor: FeatureExtractor
    rows: tuple[FeatureRows, ...]
    relations: Mapping[int, Pairs]
    graph: ModelGraph
    gold: Gold

    def learn_parameters(self) -> tuple[Parameters, Floats]:
        """The weights that the data calls for, and their counts [W] in sentences whose labels are all known."""
        num_features = [alphabet.num_features for alphabet in self.extractor.sets]
        return learn_parameters(
            self.spec.cliques, self.graph, self.rows, num_features, self.gold, self.corpus.sentence_off, self.relations
        )

    def problem(self, workers: Workers, stage: str | None) -> TrainingProblem:
        """The problem of training up to a stage. Its graph knows how many sweeps messages need, if `auto` asks."""
        parameters, counts = self.learn_parameters()
        states = tuple(self.states[name] for name in self.graph.variables)
        problem = TrainingProblem(
            self.spec, self.graph, parameters, self.rows, self.relations, self.corpus.sentence_off, self.gold, counts,
            workers, states=states, extractor=self.extractor, numbers=number_columns(self.corpus),
        )  # fmt: skip
        return with_learned_sweeps(problem, stage)

    def gradient_runs(self, parameters: Parameters) -> int:
        """How many partial gradients [W] an evaluation of the likelihood holds."""
        return gradient_runs(parameters.num_weights, sum(len(part.feature) for part in self.rows))


def assemble(
    spec: semantics.ModelSpec, corpus: data.Corpus, directories: Mapping[str, Path],
    registered: Mapping[str, RegisteredFeature], workers: Workers = ALONE, *,
    remark: Callable[[Diagnostic], None] | None = None, observed: data.Corpus | None = None,
) -> UntrainedModel:  # fmt: skip
    """Builds the assembly. DcrfError where a gold label is no state, or breaks a hard constraint, and, before anything
    large is built, where the model would not fit into memory.

    workers: share the work; the result does not depend on them.   remark: is told what takes very much.
    observed: what features are learned from; by default the corpus.
    """
    states = data.variable_states(spec, data.learn_states(spec, corpus, directories), directories)
    labels = data.encode_labels(spec, states, corpus, trains=True)
    data.raise_if_any(data.check_gold(spec, states, corpus, labels))
    spec = with_mapped_views(spec, states, registered)
    lexicons = load_lexicons(spec, directories)
    refuse_too_large(spec, states)
    if remark is not None:
        for one in idle_guides(spec, states):
            remark(one)
    with naming_statements(spec, states):
        extractor, rows = FeatureExtractor.learn(
            spec, observed or corpus, resources=lexicons, registered=registered, spread=workers.map,
            segments=gold_segments(spec, states, corpus, labels),
        )  # fmt: skip
        rows = rows if observed is None else extractor.extract(corpus)
        values = extractor.values(corpus)
        relations = extractor.relations(values)
        sets = [alphabet.num_features for alphabet in extractor.sets]
        features = [sets[number] if number >= 0 else 0 for number in extractor.set_of_clique]
        refuse_too_large(spec, states, relations, features, remark)
        graph = ModelGraph.of(spec, states, extractor.set_of_clique, extractor.bias_of_clique)
        rows = (*rows, *extractor.code_rows(values, [template.reads for template in graph.coded]))
        rows = (*rows, *rows_of_lengths(graph.templates, rows, corpus.sentence_off))
        gold = gold_of(spec, states, extractor, corpus, labels)
    data.raise_if_any(broken_constraints(spec, states, graph, corpus, gold, rows))
    return UntrainedModel(spec, corpus, states, lexicons, extractor, rows, relations, graph, gold)


def corpus_without_tokens(spec: semantics.ModelSpec, directories: Mapping[str, Path]) -> data.Corpus:
    """What a template without weights is trained on. DcrfError where it learns weights, or the states of a label."""
    learned = [f"clique {clique.label}" for clique in spec.cliques if semantics.learns(clique)]
    if learned:
        listed = ", ".join(quoted_names(learned, MOST_TYPES))
        message = f"there is no data, from which the weights of {len(learned):,} of {len(spec.cliques):,} cliques are "
        remedy = "give training data; without it a template is whole if its cliques have nothing but `offset(COLUMN)`"
        raise data_error("no-training-data", f"{message}learned: {listed}", help=remedy)
    unknown = [name for name, states in data.declared_states(spec, directories).items() if states is None]
    if unknown:
        message = f"there is no data, from which the states of `{unknown[0]}` are learned"
        raise data_error("no-training-data", message, help=f"declare them, as in `label {unknown[0]} in {{A, B}}`")
    return data.corpus_from_rows([], DataSpec(format="conll", columns=()) if spec.data is None else spec.data)


def broken_constraints(
    spec: semantics.ModelSpec,
    states: Mapping[str, tuple[str, ...]],
    graph: ModelGraph,
    corpus: data.Corpus,
    gold: Gold,
    rows: Sequence[FeatureRows],
) -> list[Diagnostic]:
    """Errors for gold labels to which a `forbid`, `require`, `once`, `runs` or a given score gives probability 0."""
    off = corpus.sentence_off
    if repeated := [*_repeated_runs(spec, states, corpus, gold), *_runs_out_of_bounds(spec, states, corpus, gold)]:
        return repeated
    if not any(len(broken_instances(template, gold, off, rows)) for template in graph.templates):
        return []
    complaints = [
        _impossible_scores(template.given, corpus, tokens)
        for template in graph.templates
        if template.given is not None and len(tokens := broken_instances(template, gold, off, rows))
    ]
    for constraint, template in zip(spec.laws, constraint_templates(spec, states, graph.templates), strict=True):
        tokens = broken_instances(template, gold, off, rows)
        if len(tokens):
            count = f"{len(tokens):,} of {len(instances_of(template, off)[0]):,}"
            text = statement_text(constraint)
            complaints.append(
                Diagnostic(
                    "broken-constraint",
                    f"the gold labels break `{text}` at {count} places ({data.places(corpus, tokens)})",
                    location=f"{corpus.file}:{corpus.token_line[tokens[0]]}",
                    help=f"correct the data, or relax or remove this `{constraint.action}`",
                )
            )
    return complaints


def _impossible_scores(given: semantics.GivenScores, corpus: data.Corpus, tokens: Ints) -> Diagnostic:
    """The error that given scores forbid gold labels at these tokens."""
    columns, places = " + ".join(f"`{term.column}`" for term in given.terms), f"place{'s' * (len(tokens) > 1)}"
    return Diagnostic(
        "impossible-score",
        f"the gold labels have the score -inf in {columns} at {len(tokens):,} {places} ({data.places(corpus, tokens)})",
        location=f"{corpus.file}:{corpus.token_line[tokens[0]]}",
        help="correct the label, or give the state a number: -inf says that it is impossible",
    )


def number_columns(corpus: data.Corpus) -> NumberColumns:
    """The columns of one number a token, which `importance` may name."""
    columns = {
        name: np.asarray(column.values, np.float64)
        for name, column in corpus.columns.items()
        if isinstance(column, data.NumericColumn) and column.values.ndim == 1
    }
    return NumberColumns(corpus.file, corpus.token_line, columns)


def refuse_undecodable(
    spec: semantics.ModelSpec, states: Mapping[str, tuple[str, ...]], graph: ModelGraph, stage: str | None
) -> None:
    """DcrfError where the graph does not allow the decoding rule of a stage: `fscore`, or `once` by a search."""
    settings = semantics.read_decoding(semantics.decoding(spec, stage))
    if isinstance(settings, semantics.FscoreDecoding):
        refuse_fscore(settings.label, graph, {label.name: states[label.name] for label in spec.labels})
    if not semantics.enforced_onces(spec, states):
        return
    refusal, shown = semantics.once_refusal(spec, states), statement_text(spec.onces[0])
    rule = semantics.decoding(spec, stage)
    if refusal is not None:
        raise data_error("once-not-exact", refusal.message, help=refusal.remedy)
    if rule != "joint":
        message = f"`decode {rule}` does not keep to `{shown}`, whose types are too many for the graph"
        raise data_error("once-not-exact", message, help="write `decode joint`, or bind fewer by `except`")


def _repeated_runs(
    spec: semantics.ModelSpec, states: Mapping[str, tuple[str, ...]], corpus: data.Corpus, gold: Gold
) -> Iterator[Diagnostic]:
    """What begins again in the gold labels, and may occur once."""
    for runs in semantics.once_constraint(spec, states) if spec.onces else ():
        codes, off = gold.codes[runs.label], corpus.sentence_off
        tokens = runs.again(codes, off)
        if len(tokens):
            sentences = len(np.unique(np.searchsorted(off, tokens, side="right")))
            types = list(dict.fromkeys(runs.types[n] for n in runs.kind[codes[tokens]].tolist()))
            more = f" and {len(types) - MOST_TYPES} more" if len(types) > MOST_TYPES else ""
            yield Diagnostic(
                "broken-constraint",
                f"the gold labels break `{statement_text(runs.once)}` in {sentences:,} of {len(off) - 1:,} sentences: "
                f"{', '.join(quoted_names(types[:MOST_TYPES]))}{more} "
                f"begin{'s' * (len(types) == 1)} again ({data.places(corpus, tokens)})",
                location=f"{corpus.file}:{corpus.token_line[tokens[0]]}",
                help=f"correct the data, or name what may come again: `once {runs.once.label} "
                f"except {{{', '.join((*runs.once.free, *types[:MOST_TYPES]))}}}`",
            )


def _runs_out_of_bounds(
    spec: semantics.ModelSpec, states: Mapping[str, tuple[str, ...]], corpus: data.Corpus, gold: Gold
) -> Iterator[Diagnostic]:
    """Gold runs that are shorter or longer than `runs` statements say, in sentences whose labels are all known."""
    off, numbers = corpus.sentence_off, {label.name: m for m, label in enumerate(spec.labels)}
    for memory in semantics.run_memories(spec):
        codes, listed = gold.codes[numbers[memory.label]], states[memory.label]
        found = bounded_runs(memory, listed, codes, complete_sentences(codes < 0, off), off)
        kinds = semantics.segment_classes(memory.label_domain, listed)
        bounds = [memory.bounds_of(one.name) for one in kinds]
        least, most, cut = (
            np.array(column)[found.kind]
            for column in zip(*((b.least, b.most or np.inf, b.cut) for b in bounds), strict=True)
        )
        exempt = cut & (np.isin(found.start, off) | np.isin(found.start + found.length, off))
        short = (found.length < least) & ~exempt
        broken = np.flatnonzero((found.kind >= 0) & (short | (found.length > most)))
        if len(broken):
            tokens, first = found.start[broken], broken[0]
            length, name = int(found.length[first]), kinds[found.kind[first]].name
            own = [one for one in spec.runs if one.variable == memory.label and one.state in (name, None)]
            one = next((one for one in own if one.state), own[0])
            yield Diagnostic(
                "broken-constraint",
                f"the gold labels break `{statement_text(one)}` in {len(tokens):,} of {np.sum(found.kind >= 0):,} runs "
                f"({data.places(corpus, tokens)}); the first is of `{name}` and has {length} token{'s' * (length > 1)}",
                location=f"{corpus.file}:{corpus.token_line[tokens[0]]}",
                help=f"correct the data, or write `{'from' if short[first] else 'up to'} {length}`",
            )


def known_columns(spec: semantics.ModelSpec) -> list[str]:
    """The columns whose training values an `oov_accuracy(label, column)` metric asks about."""
    columns = {semantics.plain(call.arguments[1].value) for call in spec.evaluate if call.name == "oov_accuracy"}
    return sorted(map(str, columns))
