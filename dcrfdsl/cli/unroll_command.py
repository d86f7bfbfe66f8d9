"""`dcrfdsl unroll`: the factor graph of one sentence, as a drawing or a list."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from .console import Features, Quiet, SetPaths, StageName, Talk, refuse
from .drawing import FORMATS, FactorMark, GraphDrawing, PieceMark, VariableMark
from .inputs import read_features, read_gold, resolved_template
from .options import Argument, Option

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ..data import Corpus
    from ..features import FeatureExtractor, FeatureRows
    from ..graph import CliqueTemplate, ModelGraph, PieceTemplate

__all__ = ["unroll"]

Format = Literal["svg", "dot", "text"]


def unroll(
    template: Annotated[str, Argument("TEMPLATE", help="Template file; - is stdin.")],
    data: Annotated[str, Argument("DATA", help="Data with labels; - is stdin.")],
    sentence: Annotated[int, Option("--sentence", "-n", min=1, metavar="N", help="Which sentence, from 1.")] = 1,
    format: Annotated[
        Format | None, Option("--format", metavar="svg|dot|text", help="Default: the output's ending, else text.")
    ] = None,
    output: Annotated[Path | None, Option("--output", "-o", metavar="FILE", help="Write it to this file.")] = None,
    stage: StageName = None,
    set_: SetPaths = None,
    features: Features = None,
    quiet: Quiet = False,
) -> None:
    """Draw the factor graph of one sentence.

    \b
    Example:
      dcrfdsl unroll chunk.dcrf train.txt --sentence 3 -o sentence.svg
      dcrfdsl unroll chunk.dcrf train.txt --format text
    """
    from ..foundation import write_whole

    talk = Talk(quiet)
    drawing = _drawing(template, data, sentence, set_, stage, features, talk)
    endings: dict[str, Format] = {".svg": "svg", ".dot": "dot", ".gv": "dot"}
    chosen = format or endings.get(output.suffix if output else "", "text")
    picture = FORMATS[chosen](drawing)
    if output is None:
        print(picture, end="")
        return
    write_whole(output, (picture.encode(),))
    talk(f"{output} written: {drawing.title}")


def _drawing(
    template: str,
    data: str,
    sentence: int,
    set_: list[str] | None,
    stage: str | None,
    features: list[str] | None,
    talk: Talk,
) -> GraphDrawing:
    from ..graph import piece_templates
    from ..semantics import check_or_raise, last_pieces
    from ..training import assemble

    resolved = resolved_template(template, set_, stage, data)
    registered = read_features(features)
    spec = resolved.spec
    check_or_raise(resolved, stage=stage, registered=registered)
    corpus = read_gold(data, spec, talk)
    if sentence > corpus.num_sentences:
        count = f"{corpus.num_sentences:,} sentence{'s' * (corpus.num_sentences != 1)}"
        refuse("no-such-sentence", f"`{data}` has {count}, there is no number {sentence:,}")
    problem = assemble(spec, corpus, resolved.directories, registered)
    graph, relations = problem.graph, problem.relations
    pairs = [relations[graph.templates[n].clique].local(sentence - 1, corpus.sentence_off) for n in graph.relational]
    drawing = _marks(graph, corpus, sentence - 1, problem.extractor, problem.rows, pairs)
    pieces = piece_templates(spec, graph, last_pieces(spec, stage))
    return replace(drawing, pieces=_piece_marks(graph, len(drawing.words), pairs, pieces))


def _piece_marks(
    graph: ModelGraph, length: int, pairs: Sequence[Sequence[tuple[int, int]]], pieces: Sequence[PieceTemplate]
) -> tuple[PieceMark, ...]:
    """The instances of the pieces of a stage, with factors numbered in the order of `ModelGraph.instances`."""
    from ..graph import PieceUnrolling

    shape = graph.shape(length, pairs)
    number = {key: n for n, key in enumerate((kind, anchor) for kind, anchor, _ in graph.instances(length, pairs))}
    unrolling = PieceUnrolling(graph, shape)
    place = [number[key] for key in zip(shape.kinds, shape.anchors, strict=True)]
    return tuple(
        PieceMark(
            template.name,
            piece.over,
            piece.conditioned,
            tuple(place[f] for f in piece.members),
            frozenset(place[f] for f, locked in zip(piece.members, piece.locked, strict=True) if locked),
        )
        for template in pieces
        for piece in unrolling.instances(template)
    )


def _marks(
    graph: ModelGraph,
    corpus: Corpus,
    sentence: int,
    extractor: FeatureExtractor,
    rows: tuple[FeatureRows, ...],
    pairs: Sequence[Sequence[tuple[int, int]]],
) -> GraphDrawing:
    first, length = int(corpus.sentence_off[sentence]), int(corpus.lengths()[sentence])
    words = _words(corpus, graph.variables, first, length)
    variables = tuple(
        VariableMark(label, t, card)
        for t in range(length)
        for label, card in zip(graph.variables, graph.cards, strict=True)
    )
    factors = []
    for kind, anchor, scope in graph.instances(length, pairs):
        template = graph.kinds[kind].template
        factors.append(
            FactorMark(template.name, anchor, scope, _firing(template, anchor, sentence, corpus, extractor, rows))
        )
    title = f"sentence {sentence + 1} of {corpus.file}: {len(variables)} variables, {len(factors)} factors"
    return GraphDrawing(title, words, variables, tuple(factors))


def _words(corpus: Corpus, labels: Collection[str], first: int, length: int) -> tuple[str, ...]:
    """The texts of the positions: those of the first text column that is no label, or else the position numbers."""
    from ..data import InternedColumn

    for name, column in corpus.columns.items():
        if isinstance(column, InternedColumn) and name not in labels:
            return tuple(column.text(first + t) for t in range(length))
    return tuple(str(t + 1) for t in range(length))


def _firing(
    template: CliqueTemplate,
    anchor: int,
    sentence: int,
    corpus: Corpus,
    extractor: FeatureExtractor,
    rows: tuple[FeatureRows, ...],
) -> tuple[str, ...]:
    """The names of the features that fire at a factor."""
    bias = ("bias",) if template.has_bias else ()
    if template.feature_set < 0 or template.coded is not None:
        return bias
    table = rows[template.feature_set]
    row = int(table.first_row(corpus.sentence_off)[sentence]) + anchor
    fired = table.feature[table.row_off[row] : table.row_off[row + 1]].tolist()
    return (*bias, *(extractor.describe(template.feature_set, feature) for feature in fired))
