"""The unrolled graph of one sentence as a drawing: its variables, its factors, and the features that fire at each.

Not here: the formats of a drawing and unrolling (`graph`), extracting features (`features`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from ...data import Corpus, InternedColumn
from ...features import FeatureExtractor, FeatureRows
from ...graph import CliqueTemplate, FactorMark, GraphDrawing, ModelGraph, VariableMark

Told = Callable[[str, int], tuple[str, tuple[str, ...], str]]


def _nothing(_: str, __: int) -> tuple[str, tuple[str, ...], str]:
    return "", (), ""


def sentence_graph(
    graph: ModelGraph,
    corpus: Corpus,
    sentence: int,
    extractor: FeatureExtractor,
    rows: tuple[FeatureRows, ...],
    pairs: Sequence[Sequence[tuple[int, int]]],
    told: Told = _nothing,
) -> GraphDrawing:
    """The graph of a sentence of a corpus, counted from 0.

    rows: the features of the corpus.   pairs: the positions that each relational clique joins in this sentence.
    told: `shown`, `details` and `kind` of a variable's mark, by name and position.
    """
    first, length = int(corpus.sentence_off[sentence]), int(corpus.lengths()[sentence])
    words = _words(corpus, graph.variables, first, length)
    sites = [(t, m) for t in range(length) for m in range(len(graph.cards)) if graph.is_there(t, m)]
    variables = tuple(
        VariableMark(graph.variables[m], t, graph.cards[m], *told(graph.variables[m], t)) for t, m in sites
    )
    number = {t * len(graph.cards) + m: n for n, (t, m) in enumerate(sites)}

    def firing(template: CliqueTemplate, anchor: int) -> tuple[str, ...]:
        """The names of the features that fire at a factor."""
        bias = ("bias",) if template.has_bias else ()
        if template.feature_set < 0 or template.num_codes:
            return bias
        table = rows[template.feature_set]
        row = int(table.first_row(corpus.sentence_off)[sentence]) + anchor
        fired = table.feature[table.row_off[row] : table.row_off[row + 1]].tolist()
        return (*bias, *(extractor.describe(template.naming_set, feature) for feature in fired))

    factors = []
    shape = graph.shape(length, pairs)
    for kind, anchor, instance in zip(shape.kinds, shape.anchors, shape.scopes, strict=True):
        template, scope = graph.kinds[kind].template, tuple(number[v] for v in instance)
        factors.append(FactorMark(template.name, anchor, scope, firing(template, anchor)))
    counts = f"{len(variables)} variable{'s' * (len(variables) != 1)}, {len(factors)} factor{'s' * (len(factors) != 1)}"
    title = f"sentence {sentence + 1} of {corpus.file}: {counts}"
    return GraphDrawing(title, words, variables, tuple(factors))


def _words(corpus: Corpus, labels: Collection[str], first: int, length: int) -> tuple[str, ...]:
    """The texts of the positions: those of the first text column that is no label, or else the position numbers."""
    for name, column in corpus.columns.items():
        if isinstance(column, InternedColumn) and name not in labels:
            return tuple(column.text(first + t) for t in range(length))
    return tuple(str(t + 1) for t in range(length))
