"""`dcrfdsl tag`: predictions beside the lines of the input, in its own format."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from .console import Features, Quiet, Talk, refuse
from .inputs import STDIN, data_statement, read_features

if TYPE_CHECKING:
    from ..data import Chunk, Corpus
    from ..model import TrainedModel

__all__ = ["tag"]

_TOKENS_AT_ONCE = 50_000
_SMALLEST = 5e-5  # a probability below this would read 0.0000


def tag(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Model file.")],
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILE...]", help="Text to tag; - or nothing is stdin.")
    ] = None,
    marginals: Annotated[
        bool, typer.Option("--marginals", help="One more column a label: STATE:PROBABILITY;…, likeliest first.")
    ] = False,
    nbest: Annotated[int, typer.Option("--nbest", min=1, metavar="K", help="The K best labellings of a sentence.")] = 1,
    given: Annotated[bool, typer.Option("--given", help="Keep the labels of the input, _ is free.")] = False,
    features: Features = None,
    quiet: Quiet = False,
) -> None:
    """Tag text. The input comes out again with the predicted labels appended, in the order of the template.

    \b
    Example:
      dcrfdsl tag chunk.model test.txt > tagged.txt
      cat test.txt | dcrfdsl tag chunk.model --marginals
    """
    for asked, option in ((nbest > 1, "--nbest"), (given, "--given")):
        if asked:
            refuse("not-in-this-version", f"`{option}` does not run in this version", "tag without it")
    from ..data import tagged
    from ..inference.status import RunStatus
    from ..model import TrainedModel

    trained = TrainedModel.load(model, registered=read_features(features))
    status = RunStatus()
    for chunk in _chunks(files or [STDIN], trained):
        columns: dict[str, list[str]] = {}
        if chunk.corpus.num_tokens:
            prediction = trained.predict(chunk.corpus)
            status += prediction.status
            columns = {label: prediction.texts(label) for label in prediction.codes}
            if marginals:
                columns |= _distributions(trained, chunk.corpus)
        sys.stdout.buffer.write(tagged(chunk, columns))
    sys.stdout.buffer.flush()
    if not status.converged:
        Talk(quiet)(
            f"warning: inference did not converge on {status.not_converged} of {status.graphs} sentences "
            f"(largest change {status.residual:.1e}); their labels are the best that was found"
        )


def _chunks(files: list[str], trained: TrainedModel) -> Iterator[Chunk]:
    """Whole sentences of the input, file after file; the label columns may be there or not."""
    from ..data import stream_corpus

    data = data_statement(trained.spec)
    labels = [label.name for label in trained.spec.labels]
    for file in files:
        yield from stream_corpus(file, data, tokens_per_chunk=_TOKENS_AT_ONCE, optional=labels)


def _distributions(trained: TrainedModel, corpus: Corpus) -> dict[str, list[str]]:
    """Each label's marginal distribution as text, a token each."""
    columns = {}
    tables, _ = trained.marginals(corpus)
    for label, table in tables.items():
        states = trained.states[label]
        order = (-table).argsort(axis=1, kind="stable")
        columns[f"{label}_marginals"] = [
            ";".join(f"{states[state]}:{row[state]:.4f}" for state in ranks if row[state] >= _SMALLEST)
            for row, ranks in zip(table, order, strict=True)
        ]
    return columns
