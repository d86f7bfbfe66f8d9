"""`dcrfdsl unroll`: the factor graph of one sentence, as a drawing, a list, or a file with its tables.

Not here: drawings, the format UAI (`graph`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import click

from .. import (
    data as data_room,
    features as feature_room,
    foundation,
    graph as graphs,
    inference,
    model as models,
    semantics,
    training,
)
from ..foundation import np, write_whole
from . import command_files
from .console import Talk, refuse
from .options import Argument, Features, Option, OutputOrStdout, Quiet, SetPaths, StageName, is_stdout

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


Format = Literal["svg", "dot", "text", "uai"]
MOST_ENTRIES = 1 << 24  # of the tables of a graph that is written: hundreds of megabytes


def unroll(
    template: Annotated[str, Argument("TEMPLATE")],
    data: Annotated[str, Argument("DATA")],
    sentence: Annotated[int, Option("N", short="-n", min=1)] = 1,
    format: Annotated[Format | None, Option("svg|dot|text|uai")] = None,
    output: OutputOrStdout = None,
    stage: StageName = None,
    set_: SetPaths = None,
    features: Features = None,
    quiet: Quiet = False,
) -> None:
    """Draw the factor graph of a sentence."""
    talk = Talk(quiet)
    output = None if is_stdout(output) else output
    command_files.refuse_clash([command_files.Output("-o", output)], (template, data, *(features or ())))
    if models.header_of(template) is not None:
        if set_:
            raise click.BadParameter("--set changes a template, and a model has been trained")
        unrolled = _of_model(template, data, sentence, features)
    else:
        resolved = command_files.resolved_template(template, set_, stage, data)
        command_files.refuse_clash([command_files.Output("-o", output)], command_files.files_of_template(resolved))
        unrolled = _of_template(resolved, data, sentence, stage, features, talk)
    endings: dict[str, Format] = {".svg": "svg", ".dot": "dot", ".gv": "dot", ".uai": "uai"}
    chosen = format or endings.get(output.suffix if output else "", "text")
    drawing = unrolled.drawing(sentence, stage)
    picture = unrolled.uai() if chosen == "uai" else graphs.FORMATS[chosen](drawing)
    if output is None:
        print(picture, end="")
        return
    write_whole(output, (picture.encode(),))
    talk(f"{output} written: {drawing.title}")


class _Unrolled(NamedTuple):
    """A sentence, the one of this `number` (from 0) in a corpus, with what its graph consists of.

    weights: the parameters of the model, and their values [W].
    """

    spec: semantics.ModelSpec
    graph: graphs.ModelGraph
    corpus: data_room.Corpus
    number: int
    extractor: feature_room.FeatureExtractor
    rows: tuple[feature_room.FeatureRows, ...]
    relations: Mapping[int, feature_room.Pairs]
    weights: Callable[[], tuple[graphs.Parameters, foundation.Floats]]

    def drawing(self, sentence: int, stage: str | None) -> graphs.GraphDrawing:
        """The drawing of the graph, with the pieces of the stage.   sentence: its number in the file, from 1."""
        graph, number, pairs = self.graph, self.number, self._pairs()
        drawing = models.sentence_graph(graph, self.corpus, number, self.extractor, self.rows, pairs)
        title = drawing.title.replace(f"sentence {number + 1}", f"sentence {sentence}", 1)
        templates = graphs.piece_templates(self.spec, graph, semantics.last_pieces(self.spec, stage))
        unrolling = graphs.PieceUnrolling(graph, graph.shape(len(drawing.words), pairs))
        pieces = tuple(
            graphs.PieceMark(
                templates[n].name, piece.over, piece.conditioned, tuple(piece.members),
                frozenset(f for f, locked in zip(piece.members, piece.locked, strict=True) if locked),
            )
            for n, piece in unrolling.instances(templates)
        )  # fmt: skip
        return replace(drawing, title=title, pieces=pieces)

    def _pairs(self) -> list[Sequence[tuple[int, int]]]:
        """The positions that each relational clique joins."""
        cliques = [self.graph.templates[n].clique for n in self.graph.relational]
        return [self.relations[clique].local(self.number, self.corpus.sentence_off) for clique in cliques]

    def uai(self) -> str:
        """The graph with its potentials. DcrfError if these are no tables of finite numbers."""
        shape = self.graph.shape(int(self.corpus.lengths()[self.number]), self._pairs())
        entries = sum(math.prod(shape.cards[v] for v in scope) for scope in shape.scopes)
        if entries > MOST_ENTRIES:
            message = f"its tables have {entries:,} entries, at most {MOST_ENTRIES:,} are written"
            refuse("cannot-export", f"the graph cannot be written as UAI: {message}", "choose a shorter sentence")
        parameters, weights = self.weights()
        data = inference.Binder(self.graph, parameters, programs=False).bind(
            self.rows, self.corpus.sentence_off, self.relations
        )
        return graphs.uai_text(inference.sequence_graph(data, data.potentials(weights), self.number))


def _of_template(
    resolved: semantics.Resolved, data: str, sentence: int, stage: str | None, features: list[str] | None, talk: Talk
) -> _Unrolled:
    """By a template, whose states and features come from the data."""
    registered = command_files.read_features(features)
    spec = resolved.spec
    semantics.check_or_raise(resolved, stage=stage, registered=registered)
    corpus = command_files.read_gold(data, spec, talk)
    if sentence > corpus.num_sentences:
        command_files.refuse_sentence(data, corpus.num_sentences, sentence)
    made = training.assemble(spec, corpus, resolved.directories, registered)

    def weights() -> tuple[graphs.Parameters, foundation.Floats]:
        parameters, _ = made.learn_parameters()
        return parameters, np.zeros(parameters.num_weights)

    return _Unrolled(spec, made.graph, corpus, sentence - 1, made.extractor, made.rows, made.relations, weights)


def _of_model(path: str, data: str, sentence: int, features: list[str] | None) -> _Unrolled:
    """By a model, at its weights times its temperature: what probabilities are of."""
    model = command_files.load_model(path, command_files.read_features(features))
    corpus = command_files.read_sentence(data, model.spec, sentence)
    rows, relations = model.prepare(corpus).structure.features(corpus)
    return _Unrolled(
        model.spec, model.graph, corpus, 0, model.extractor, rows, relations,
        lambda: (model.parameters, model.temperature * model.weights),
    )  # fmt: skip
