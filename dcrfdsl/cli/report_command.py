"""`dcrfdsl report`: what there is to say of a model on labelled data, as one page for a browser."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from .console import MOST_DRAWS, Features, Quiet, Talk, Threads, refuse
from .inputs import load_model, read_features, read_gold, refuse_sentence
from .options import Argument, Option
from .output_clashes import Output, refuse_clash


def report(
    model: Annotated[str, Argument("MODEL", help="Model file.")],
    data: Annotated[str, Argument("DATA", help="Data with labels; - is stdin.")],
    output: Annotated[Path, Option("--output", "-o", metavar="FILE.html", help="Write the page to this file.")],
    sentence: Annotated[
        list[int] | None,
        Option(
            "--sentence",
            "-n",
            min=1,
            metavar="N",
            help="Draw this sentence, from 1. Repeatable.",
        ),
    ] = None,
    errors: Annotated[int, Option("--errors", min=0, metavar="N", help="List N wrong labels at most.")] = 20_000,
    explained: Annotated[int, Option("--explain", min=0, metavar="N", help="Explain the first N of them.")] = 100,
    level: Annotated[float, Option("--level", metavar="SHARE", help="Confidence of the intervals, 0 to 1.")] = 0.95,
    draws: Annotated[
        int, Option("--draws", min=1, max=MOST_DRAWS, metavar="N", help="Samples of the bootstrap.")
    ] = 1000,
    seed: Annotated[int, Option("--seed", min=0, metavar="N", help="Seed of the samples.")] = 0,
    threads: Threads = None,
    features: Features = None,
    quiet: Quiet = False,
) -> None:
    """Write a report on a model and labelled data: one page for a browser.

    Scores with intervals, confusions of states and segments, a browser of all errors with explanations, calibration,
    learning curves, the strongest weights, transitions, unrolled graphs, the data, the template and the record. The
    page needs no network. Where there are too many errors for one page, further ones are written beside it.

    \b
    Example:
      dcrfdsl report chunk.model gold.txt -o report.html
      dcrfdsl report chunk.model gold.txt -o report.html --sentence 2 --explain 20
    """
    from .report import bytes_text

    inputs = (model, data, *(features or ()))
    for page in (Output("-o", output), *_further_pages(output)):
        refuse_clash([page], inputs)
    talk = Talk(quiet)
    trained = load_model(model, read_features(features))
    corpus = read_gold(data, trained.spec, talk)
    if not corpus.num_tokens:
        refuse("empty-file", f"there is nothing to report: `{data}` has no token")
    for number in sentence or ():
        if number > corpus.num_sentences:
            refuse_sentence(data, corpus.num_sentences, number)
    pages = trained.report(
        corpus, output, title=f"{Path(model).name} on {Path(data).name}", errors=errors, explained=explained,
        sentences=[n - 1 for n in sentence or ()],
        level=level, draws=draws, seed=seed, threads=threads,
    )  # fmt: skip
    size = sum(page.stat().st_size for page in pages)
    more = f" and {len(pages) - 1:,} further page{'s' * (len(pages) > 2)}" if len(pages) > 1 else ""
    talk(f"{output}{more} written ({bytes_text(size)}); open it in a browser")


def _further_pages(output: Path) -> list[Output]:
    """The files that are there under names of further pages; how many pages there will be is not known yet."""
    name, found = re.compile(rf"{re.escape(output.stem)}-\d+{re.escape(output.suffix)}"), []
    with suppress(OSError), os.scandir(output.parent) as entries:  # a folder that is missing is said when writing
        found = [
            Output("-o", output.with_name(entry.name), beside=True) for entry in entries if name.fullmatch(entry.name)
        ]
    return found
