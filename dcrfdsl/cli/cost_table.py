"""The cost table of `dcrfdsl check`: what a template alone tells, and what training data tell in addition.

Without data the engine is not loaded; the table then shows what the declared states determine, and `?` for the rest.
With data it also shows how many tokens have each state: a class that is hardly there can hardly be learned. Not here:
rules on templates (`semantics.checks.checker`), the estimates (`graph.model_cost`, `training.time_estimate`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from .. import criteria, data, features, foundation, graph as graphs, inference, optimizers, semantics, syntax, training
from ..foundation import Diagnostic, dataclass, give_back_memory, memory_in_use, np
from .inference_notes import decode_words
from .report import NUMBER, TEXT, duration, peak_mb, print_table, table

# classes in the data -------------------------------------------------------------------------------------------------


MOST_LISTED = 12  # classes that a line names


@dataclass(frozen=True)
class ClassCounts:
    """tokens: of each state.   unlabelled: tokens without one known state.   segments: of each type, as far as their
    beginning is known; empty where the states mark none.
    """

    tokens: Mapping[str, int]
    unlabelled: int
    segments: Mapping[str, int]

    def words(self) -> str:
        """`B-NP 55,081, I-NP 63,307 … tokens`, the most frequent first, and the segments."""
        unlabelled = f"; {self.unlabelled:,} unlabelled" if self.unlabelled else ""
        segments = f"; segments: {_listed(self.segments)}" if self.segments else ""
        return f"{_listed(self.tokens)}{unlabelled}{segments}"


def _listed(counts: Mapping[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda pair: -pair[1])
    shown = ordered if len(ordered) <= MOST_LISTED else [*ordered[: MOST_LISTED - 2], *ordered[-1:]]
    texts = [f"{name} {count:,}" for name, count in shown]
    if len(shown) < len(ordered):
        texts.insert(-1, f"… {len(ordered) - len(shown):,} more …")
    return ", ".join(texts)


def _counts(states: Sequence[str], codes: Any, corpus: data.Corpus) -> ClassCounts:
    tokens = np.bincount(codes[codes >= 0], minlength=len(states)).tolist()
    segments: dict[str, int] = {}
    if semantics.has_segments(states):
        known = np.maximum(codes, -1)
        mark, kind, names = data.mark_table(states)
        found = data.segments_of(known, mark, kind, corpus.sentence_off)
        opens = data.STARTS[2, mark]  # what begins a segment even after `I`
        follows = (known[found.start - 1] < 0) & ~np.isin(found.start, corpus.sentence_off)
        sure = opens[known[found.start]] | ~follows
        segments = dict(zip(names, np.bincount(found.kind[sure], minlength=len(names)).tolist(), strict=True))
    return ClassCounts(dict(zip(states, tokens, strict=True)), int((codes < 0).sum()), segments)


UNKNOWN = "?"
NO_TIME = "none: there are no weights to learn"
MOST_SENTENCES = 100  # whose graphs are looked at
MOST_ROWS = 200  # cliques that are listed
HEADINGS = ("clique", "states", "table", "weights")


@dataclass(frozen=True)
class CostTable:
    """The rows of the table. cliques: name, states of the sites, table entries, weights.   totals: name and text."""

    cliques: Sequence[tuple[str, str, str, str]]
    totals: Sequence[tuple[str, str]]

    def __str__(self) -> str:
        rows = [f"{name}: {states} states, {entries} entries, {weights} weights" for name, states, entries, weights in
                self.cliques[:MOST_ROWS]]  # fmt: skip
        return "\n".join([*rows, *self._more(), *self._total_lines()])

    def _total_lines(self) -> list[str]:
        width = max((len(name) for name, _ in self.totals), default=0)
        return [f"{name:<{width}}  {words}" for name, words in self.totals]

    def _more(self) -> list[str]:
        more = len(self.cliques) - MOST_ROWS
        return [f"… and {more:,} more cliques"] if more > 0 else []

    def blocks(self) -> list[foundation.Block]:
        return [
            foundation.TextTable("What the cliques cost", HEADINGS, self.cliques[:MOST_ROWS]),
            *(foundation.Paragraph(line, kind="note") for line in self._more()),
            foundation.TextTable("What the model costs", ["what", "value"], self.totals, (0, 1)),
        ]

    def print(self) -> None:
        print_table(table([(TEXT, HEADINGS[:1]), (NUMBER, HEADINGS[1:])], self.cliques[:MOST_ROWS]))
        print("\n".join([*self._more(), "", *self._total_lines()]))


# without data -----------------------------------------------------------------------------------------------------


def declared_costs(resolved: semantics.Resolved, stage: str | None) -> CostTable:
    """The table without data: what the declared states determine."""
    spec = resolved.spec  # checked
    states = data.declared_states(spec, resolved.directories)
    counts = {name: None if listed is None else len(listed) for name, listed in states.items()}
    counts |= _view_counts(spec, states)
    rows = [
        (clique.label, *table_words(spec, clique, counts, states), UNKNOWN if semantics.learns(clique) else "0")
        for clique in spec.cliques
    ]
    sweeps = [(len(clique.sites), _entries(clique, counts)) for clique in spec.cliques if len(clique.sites) > 1]
    work = None if any(entries is None for _, entries in sweeps) else sum(n * (entries or 0) for n, entries in sweeps)
    unknown = ", ".join(f"`{name}`" for name, count in counts.items() if count is None)
    totals = [("one sweep", UNKNOWN if work is None else work_words(work))]
    taught = any(map(semantics.learns, spec.cliques))
    totals += [("exact", UNKNOWN), ("weights", UNKNOWN if taught else "0"), ("memory", UNKNOWN)]
    totals += [("time", UNKNOWN if taught else NO_TIME), *order_rows(spec, states), *decoding_rows(spec, stage)]
    known = {name: listed for name, listed in states.items() if listed is not None}
    if len(known) == len(states):
        totals += [*segment_rows(spec, known, stage), *once_rows(spec, known)]
    depends = f"the states of {unknown} are learned" if unknown else "depends on data"
    return CostTable(rows, [*totals, ("?", f"{depends}; give {'training ' * taught}data with `--data FILE`")])


def order_rows(spec: semantics.ModelSpec, states: Mapping[str, Sequence[str] | None]) -> list[tuple[str, str]]:
    """The order that scores without names have to be in."""
    scored = dict.fromkeys(name for column in (spec.data.columns if spec.data else ()) for name in column.type.of)
    listed = {name: known for name in scored if (known := states.get(name)) is not None}
    return [("scores", f"of `{name}`: {', '.join(known[:MOST_ROWS])}") for name, known in listed.items()]


def _view_counts(spec: semantics.ModelSpec, states: Mapping[str, Sequence[str] | None]) -> dict[str, int]:
    """How many states the views of cliques have, where those of their label are declared."""
    used = {site.variable for clique in spec.cliques for site in clique.sites}
    views = [view for view in spec.views if view.name in used]
    if not views:
        return {}
    labels = {
        view.name: states.get(features.view_label(spec, view))
        for view in views
        if not features.own_functions(spec, view)
    }
    return {
        view.name: len(features.view_map(spec, view, listed).states)
        for view in views
        if (listed := labels.get(view.name))
    }


def decoding_rows(spec: semantics.ModelSpec, stage: str | None) -> list[tuple[str, str]]:
    """The row of the decoding rule, if it follows from the criterion because the template names none."""
    rule = semantics.decode_rule(spec, stage)
    return [] if rule.trained is None else [("decoding", decode_words(rule.name, rule.trained))]


def once_rows(spec: semantics.ModelSpec, states: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """How the model keeps to `once`, if it has one."""
    return [("once", semantics.once_words(spec, states))] if spec.onces else []


def _cards(clique: syntax.CliqueSpec, counts: Mapping[str, int | None]) -> list[int | None]:
    """States of each site, with START and STOP where they are used; None if they are learned from data."""
    beyond = 2 if clique.edges == "pad" else 0
    return [None if (count := counts.get(site.variable)) is None else count + beyond for site in clique.sites]


def _entries(clique: syntax.CliqueSpec, counts: Mapping[str, int | None]) -> int | None:
    cards = _cards(clique, counts)
    return None if None in cards else math.prod(card for card in cards if card is not None)


def table_words(
    spec: semantics.ModelSpec,
    clique: syntax.CliqueSpec,
    counts: Mapping[str, int | None],
    states: Mapping[str, Sequence[str] | None],
) -> tuple[str, str]:
    """The states and the table of a clique; of segments their types and tokens. states: None where data tells them."""
    if clique.segmental:
        label = spec.labels_by_name[clique.sites[0].variable]
        listed = states.get(label.name)
        types = (
            None if listed is None else sum(bool(one.name) for one in semantics.segment_classes(label.domain, listed))
        )
        return (
            f"{UNKNOWN if types is None else f'{types:,}'} × {semantics.longest_segment(spec, clique)} tokens",
            "none",
        )
    cards, entries = _cards(clique, counts), _entries(clique, counts)
    words = " × ".join(
        f"{UNKNOWN} {site.variable}" if card is None else str(card)
        for site, card in zip(clique.sites, cards, strict=True)
    )
    return words, UNKNOWN if entries is None else f"{entries:,}"


def segment_rows(
    spec: semantics.ModelSpec, states: Mapping[str, Sequence[str]], stage: str | None
) -> list[tuple[str, str]]:
    """The states of the memories that stand for segments and runs in the graph, and what decoding does about bounds."""
    known, rows = semantics.unrolled_spec(spec, states)[1], []
    kept = "; `decode marginal` does not keep to the bounds" * (semantics.decode_rule(spec, stage).name == "marginal")
    for name, listed in known.items():  # other names have no blanks
        far = f"{len(listed):,} states of a token, how far its"
        if name.startswith("segment "):
            rows.append(("segments", f"{far} segment has come"))
        elif name.startswith("runs "):
            rows.append((name, f"{far} run has come; {len(listed) ** 2:,} entries for two neighbours{kept}"))
    return rows


def work_words(multiply_adds: float) -> str:
    return f"{multiply_adds:,.0f} multiply-adds a token"


# with data -----------------------------------------------------------------------------------------------------------


RARE = 10_000  # a lexicon that matches fewer than one in this many tokens is worth a warning


class Trained(NamedTuple):
    """What data tells of a template: the complete table, warnings, and how often the classes of each label occur."""

    table: CostTable
    warnings: list[Diagnostic]
    classes: dict[str, ClassCounts]


def trained_costs(
    resolved: semantics.Resolved, corpus: data.Corpus, registered: Mapping[str, features.RegisteredFeature],
    stage: str | None, at_once: Callable[[Diagnostic], None] | None = None,
) -> Trained:  # fmt: skip
    """The complete table, and warnings from the data. Raises DcrfError if the gold labels forbid training, or if the
    model does not fit into memory.

    at_once: is told what takes very much before it is built; without it that is among the warnings.
    """
    spec = resolved.spec  # checked
    remarks: list[Diagnostic] = []
    told = at_once or remarks.append
    problem = training.assemble(spec, corpus, resolved.directories, registered, remark=told)
    training.refuse_undecodable(spec, problem.states, problem.graph, stage)
    idle = dict(_idle_lexicons(spec, corpus, problem.lexicons, registered))
    remarks += [*_silent_features(problem.extractor, corpus, idle.keys()), *idle.values()]
    codes = data.encode_labels(spec, problem.states, corpus).codes
    names = [label.name for label in spec.labels]
    classes = {name: _counts(problem.states[name], codes[m], corpus) for m, name in enumerate(names)}
    with training.naming_statements(resolved.spec, problem.states):
        return Trained(_table(resolved, problem, registered, stage, classes), remarks, classes)


def _table(
    resolved: semantics.Resolved, problem: training.UntrainedModel,
    registered: Mapping[str, features.RegisteredFeature], stage: str | None, classes: Mapping[str, ClassCounts],
) -> CostTable:  # fmt: skip
    spec, corpus = problem.spec, problem.corpus
    learned = problem.problem(inference.Workers(None), stage)
    graph, parameters, rows, relations = learned.graph, learned.parameters, problem.rows, problem.relations
    settings = semantics.stage_settings(spec, semantics.stage_chain(spec, stage)[-1].label)
    runs = problem.gradient_runs(parameters)
    optimizer, history = settings.optimizer, 0.0
    if isinstance(optimizer, semantics.LbfgsSettings | semantics.AutoOptimizer):
        pairs = optimizers.pairs_kept(optimizer.memory, learned.seconds, parameters.num_weights)
        history = pairs * optimizers.pair_bytes(parameters.num_weights) / 8
    method, taken = _method(learned, settings.infer or semantics.inference_settings(spec))
    pruned = method == "pruned"
    automaton = None if pruned else inference.fastest_automaton(graph, parameters)
    seconds = None if automaton is None else graphs.automaton_seconds(automaton)
    estimated = partial(graphs.training_cost, runs=runs, history=history, automaton=seconds, thin=pruned)
    cost = estimated(graph, parameters, rows, corpus.sentence_off, relations=relations)
    counts: dict[str, int | None] = {name: len(states) for name, states in problem.states.items()}
    for clique, template in zip(spec.cliques, graph.templates, strict=False):  # constraints come after the cliques
        if template.segments is None:
            counts |= dict(zip((site.variable for site in clique.sites), template.weight_cards, strict=True))
    cliques = [
        (clique.label, *table_words(spec, clique, counts, problem.states), f"{weights:,}")
        for clique, template, weights in zip(spec.cliques, graph.templates, cost.weights, strict=False)
    ]
    cores = int(os.environ.get("DCRFDSL_THREADS") or 0) or os.cpu_count() or 1
    exact = method in ("exact", "automaton") and not cost.joined
    if exact and automaton is not None:
        taken += f", by an automaton of {automaton.states:,} states and {automaton.moves:,} moves"

    def relative_cost(sample: data.Corpus) -> float:
        part = training.assemble(spec, sample, resolved.directories, registered)
        weights, _ = part.learn_parameters()
        its = estimated(part.graph, weights, part.rows, sample.sentence_off, relations=part.relations)
        return cost.seconds(exact=exact, cores=cores) / its.seconds(exact=exact, cores=cores)

    lasts = training.training_seconds(
        resolved, corpus, relative_cost=relative_cost, evaluation=cost.seconds(exact=exact, cores=cores), stage=stage,
        registered=registered,
    )  # fmt: skip
    # the process and the data take what they take in training, the trained sample's kernels included
    give_back_memory()
    memory = max(memory_in_use() + cost.memory + (0.0 if exact else cost.message_memory), 1e6 * peak_mb())
    width = f"treewidth {cost.exact.width}, largest table {cost.exact.largest:,.0f}"
    if cost.exact.work == math.inf:
        width = f"a table of {cost.exact.largest:.1g} entries at least"
    work = work_words(cost.exact.work) if cost.exact.work < math.inf else "does not fit"
    totals = [
        ("data", f"{_counted(corpus.num_sentences, 'sentence')}, {_counted(cost.tokens, 'token')}"),
        *((f"`{name}`", counts.words()) for name, counts in classes.items()),
        ("weights", f"{sum(cost.weights):,}"),
        *(("joined", _joined_words(joined)) for joined in cost.joined),
        *(_joined_exact(learned.bind_plain(programs=False)) if cost.joined else ()),
        *(() if cost.joined else (("exact", f"{work}; {width}"),)),
        *segment_rows(spec, problem.states, stage),
        ("one sweep", work_words(cost.messages.sweep)),
        ("method", taken),
        *order_rows(spec, problem.states),
        *decoding_rows(spec, stage),
        *once_rows(spec, problem.states),
        ("memory", f"about {memory / 1e6:,.0f} MB at most, the program included"),
        ("time", UNKNOWN if lasts is None else _time(lasts, cores)),
    ]
    return CostTable(cliques, totals)


def _method(learned: criteria.TrainingProblem, asked: semantics.MethodSettings) -> tuple[str, str]:
    """The inference method of training, and its text in the table."""
    method, settings = inference.choose_method(learned.graph, learned.parameters, asked)
    if method == "auto" and isinstance(settings, semantics.AutoSettings):  # the graphs of the data decide
        bound = learned.bind_plain(programs=False)
        method = inference.PerSentenceMethod.of(bound, settings).description()
        return method, f"`auto` takes {method}{inference.estimate_words(learned.graph)}"
    shown = "exact" if method in ("automaton", "segments") else method
    if isinstance(settings, semantics.PrunedSettings) and settings.by is not None:
        return method, f"`{shown}`, by the marginals of `{settings.by}`"
    if asked.method != "auto":
        return method, f"`{shown}`"
    words = inference.estimate_words(learned.graph) if method == "trp" or learned.graph.sweeps else ""
    return method, f"`{shown}`, which `auto` takes{words}"


def _time(lasts: training.SecondsRange, cores: int) -> str:
    if lasts.most == 0.0:
        return NO_TIME
    of_cores = f"on {cores} core{'' if cores == 1 else 's'}"
    between = f"between {duration(lasts.least)} and {duration(lasts.most)}"
    return f"about {duration(lasts.likely)} {of_cores}, probably {between}; compiling, once after an install, is apart"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _silent_features(
    extractor: features.FeatureExtractor, corpus: data.Corpus, idle: Collection[str]
) -> Iterator[Diagnostic]:
    """Warnings about features that never fire, one per feature however many cliques use it.

    idle: lexicons that match nothing; features that read one of them are left out. So are tests of missing numbers
    that come with the number itself: that a channel has no gaps is no mistake.
    """
    fires: dict[str, bool] = {}
    for number, alphabet in enumerate(extractor.sets):
        for feature, count in zip(extractor.listed(number)[0], alphabet.features_of_template, strict=True):
            if any(name in idle for factor in feature.factors for name in features.lexicons_of(factor.condition)):
                continue
            # single components of a vector may well be zero throughout
            name = " & ".join(replace(factor, component=None).name for factor in feature.factors)
            fires[name] = fires.get(name, False) or count > 0
    silent = [name for name, fired in fires.items() if not fired]
    numbers = {f"{name} is missing" for name in fires}
    for name in (name for name in silent if name not in numbers):
        message = f"the feature `{name}` never fires in the training data, or not as often as `min_count` asks"
        remedy = "correct it, or leave it out: it costs time and has no weight"
        yield Diagnostic("silent-feature", message, location=corpus.file, help=remedy, severity="warning")


def _idle_lexicons(
    spec: semantics.ModelSpec,
    corpus: data.Corpus,
    lexicons: features.Lexicons,
    registered: Mapping[str, features.RegisteredFeature],
) -> Iterator[tuple[str, Diagnostic]]:
    """Warnings about lexicons that hardly match, with the name of the lexicon."""
    for name, tokens in features.lexicon_matches(spec, corpus, lexicons, registered).items():
        if tokens * RARE < corpus.num_tokens or tokens == 0:
            entries = len(lexicons.by_name[name].entries)
            message = f"lexicon `{name}` ({entries:,} entries) matches {tokens:,} of {corpus.num_tokens:,} tokens"
            remedy = features.idle_remedy(name, spec, corpus, lexicons)
            yield name, Diagnostic("idle-lexicon", message, location=corpus.file, help=remedy, severity="warning")


def _joined_exact(bound: inference.BoundData) -> list[tuple[str, str]]:
    """What exact inference costs on the first sentences, each of which has a graph of its own."""
    total, most = bound.num_sequences, graphs.MOST_ENTRIES
    sample = bound.only(np.arange(min(MOST_SENTENCES, total)))
    found, shapes = {g: cost for g, _, cost in inference.elimination_costs(sample)}, sample.bank.shapes
    largest, loops, work, tokens = list[float](), 0, 0.0, 0
    for g, length in zip(sample.rows.shape.tolist(), np.diff(sample.rows.token_off).tolist(), strict=True):
        cost = found.get(g)
        largest.append(graphs.least_table(shapes[g].scopes, shapes[g].cards) if cost is None else cost.largest)
        loops += cost is None or cost.width > 1
        if cost is not None and cost.largest <= most:
            work, tokens = work + cost.work, tokens + length
    looked = _counted(total, "sentence") if total <= MOST_SENTENCES else f"the first {MOST_SENTENCES:,} sentences"
    words, too_wide = work_words(work / tokens) if tokens else "does not fit", sum(size > most for size in largest)
    if not loops:
        return [("exact", f"{words}; each of {looked} is a tree, or several: linear in its length")]
    if too_wide and tokens:
        words += f", but for {too_wide:,} of {looked}, whose tables do not fit"
    tables = f"largest table {np.median(largest):,.0f} in the median sentence, {max(largest):.3g} in the worst"
    return [("exact", words), ("loops", f"{loops:,} of {looked} with loops; {tables}")]


def _joined_words(joined: graphs.JoinedPairs) -> str:
    """`skip: 1 pair in the median sentence, at most 7 in 99 of 100, 20 in the worst`"""
    median = f"{joined.median:g} pair{'' if joined.median == 1 else 's'} in the median sentence"
    return f"`{joined.clique}`: {median}, at most {joined.high:g} in 99 of 100, {joined.most:,} in the worst"
