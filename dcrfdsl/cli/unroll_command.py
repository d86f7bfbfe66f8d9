"""`dcrfdsl unroll`: the factor graph of one sentence, as a drawing or a list."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import click

from .command_files import (
    Output,
    files_of_template,
    load_model,
    read_features,
    read_gold,
    read_sentence,
    refuse_clash,
    refuse_sentence,
    resolved_template,
)
from .console import Talk
from .options import Argument, Features, Option, Quiet, SetPaths, StageName, is_stdout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph import GraphDrawing, ModelGraph, PieceMark, PieceTemplate
    from ..semantics import Resolved

Format = Literal["svg", "dot", "text"]


def unroll(
    template: Annotated[str, Argument("TEMPLATE", help="Template or model file; - is a template on stdin.")],
    data: Annotated[str, Argument("DATA", help="Data, for a template with labels; - is stdin.")],
    sentence: Annotated[int, Option("--sentence", "-n", min=1, metavar="N", help="Which sentence, from 1.")] = 1,
    format: Annotated[
        Format | None, Option("--format", metavar="svg|dot|text", help="Default: the output's ending, else text.")
    ] = None,
    output: Annotated[
        Path | None,
        Option("--output", "-o", metavar="FILE", dash=True, help="Write it to this file (default, or -: stdout)."),
    ] = None,
    stage: StageName = None,
    set_: SetPaths = None,
    features: Features = None,
    quiet: Quiet = False,
) -> None:
    """Draw the factor graph of one sentence.

    A template learns its states and features from the data; a model has its own, and the data needs no labels.

    \b
    Example:
      dcrfdsl unroll chunk.dcrf train.txt --sentence 3 -o sentence.svg
      dcrfdsl unroll chunk.dcrf train.txt --format text
      dcrfdsl unroll chunk.model test.txt --format text
    """
    from ..foundation import write_whole
    from ..graph import FORMATS
    from ..model import header_of

    talk = Talk(quiet)
    output = None if is_stdout(output) else output
    refuse_clash([Output("-o", output)], (template, data, *(features or ())))
    if header_of(template) is not None:
        if set_:
            raise click.BadParameter("--set changes a template, and a model has been trained")
        drawing = _drawing_of_model(template, data, sentence, stage, features)
    else:
        resolved = resolved_template(template, set_, stage, data)
        refuse_clash([Output("-o", output)], files_of_template(resolved))
        drawing = _drawing(resolved, data, sentence, stage, features, talk)
    endings: dict[str, Format] = {".svg": "svg", ".dot": "dot", ".gv": "dot"}
    chosen = format or endings.get(output.suffix if output else "", "text")
    picture = FORMATS[chosen](drawing)
    if output is None:
        print(picture, end="")
        return
    write_whole(output, (picture.encode(),))
    talk(f"{output} written: {drawing.title}")


def _drawing(
    resolved: Resolved, data: str, sentence: int, stage: str | None, features: list[str] | None, talk: Talk
) -> GraphDrawing:
    from ..graph import piece_templates
    from ..model import sentence_graph
    from ..semantics import check_or_raise, last_pieces
    from ..training import assemble

    registered = read_features(features)
    spec = resolved.spec
    check_or_raise(resolved, stage=stage, registered=registered)
    corpus = read_gold(data, spec, talk)
    if sentence > corpus.num_sentences:
        refuse_sentence(data, corpus.num_sentences, sentence)
    problem = assemble(spec, corpus, resolved.directories, registered, spans=resolved.spans)
    graph, relations = problem.graph, problem.relations
    pairs = [relations[graph.templates[n].clique].local(sentence - 1, corpus.sentence_off) for n in graph.relational]
    drawing = sentence_graph(graph, corpus, sentence - 1, problem.extractor, problem.rows, pairs)
    pieces = piece_templates(spec, graph, last_pieces(spec, stage))
    return replace(drawing, pieces=_piece_marks(graph, len(drawing.words), pairs, pieces))


def _drawing_of_model(
    path: str, data: str, sentence: int, stage: str | None, features: list[str] | None
) -> GraphDrawing:
    from ..graph import piece_templates
    from ..model import sentence_graph
    from ..semantics import last_pieces

    model = load_model(path, read_features(features))
    corpus, graph = read_sentence(data, model.spec, sentence), model.graph
    rows, relations = model.prepare(corpus).structure.features(corpus)
    pairs = [relations[graph.templates[n].clique].local(0, corpus.sentence_off) for n in graph.relational]
    drawing = sentence_graph(graph, corpus, 0, model.extractor, rows, pairs)
    drawing = replace(drawing, title=drawing.title.replace("sentence 1", f"sentence {sentence}", 1))
    pieces = piece_templates(model.spec, graph, last_pieces(model.spec, stage))
    return replace(drawing, pieces=_piece_marks(graph, len(drawing.words), pairs, pieces))


def _piece_marks(
    graph: ModelGraph, length: int, pairs: Sequence[Sequence[tuple[int, int]]], pieces: Sequence[PieceTemplate]
) -> tuple[PieceMark, ...]:
    """The instances of the pieces of a stage."""
    from ..graph import PieceMark, PieceUnrolling

    unrolling = PieceUnrolling(graph, graph.shape(length, pairs))
    return tuple(
        PieceMark(
            pieces[n].name,
            piece.over,
            piece.conditioned,
            tuple(piece.members),
            frozenset(f for f, locked in zip(piece.members, piece.locked, strict=True) if locked),
        )
        for n, piece in unrolling.instances(pieces)
    )
