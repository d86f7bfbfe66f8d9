"""A parser of references, trained on a bibliography of yours: its entries are printed in several styles.

    python run.py --bib references.bib more.bib --out references
    python run.py --bib references.bib --out references --quick

Entries of BibTeX say what is the author, what the title; printed, they are labelled references. The folder of `--out`
then has the data, four lexicons, the templates, a model for each, and a page of the errors of the last one. Training
sees each entry twice, in one of six styles and in a mixture of them. Other entries test the models, in these styles and
in two that training never saw.
Not here: reading entries (`entries`) and printing them (`styles`).
"""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

sys.path.append(str(Path(__file__).parents[1]))  # where `running` lies

from entries import entries_of, without_doubles
from running import empty_table, parser_of, refusals, say, timed
from styles import STYLES, Entry, Token, render, varied

from dcrfdsl import TrainedModel, fit, load_template, read_corpus
from dcrfdsl.cli.report import print_table
from dcrfdsl.data import Corpus

HERE = Path(__file__).parent
MODELS = ("chain", "memory", "reference")
NEW_STYLES = ("short", "journal first")
QUICK_ENTRIES = 200
FIGURES = ("segments, F1", "references right", "a part repeated")


class Data(NamedTuple):
    """The files that are made of a bibliography."""

    train: Path
    known_styles: Path
    new_styles: Path


class Figures(NamedTuple):
    """Of labelled references, in percent; `repeated`: how many have a part twice."""

    f1: float
    right: float
    repeated: int


# data ---------------------------------------------------------------------------------------------------------------


def write_data(entries: Sequence[Entry], folder: Path, *, seed: int) -> Data:
    """Entries for the lexicons, for training and for the tests, three, five and two of ten. No entry is in two."""
    draw = random.Random(seed)
    mixed = list(entries)
    draw.shuffle(mixed)
    lexical, training, testing = (
        mixed[: (cut := 3 * len(mixed) // 10)], mixed[cut : (end := 8 * len(mixed) // 10)], mixed[end:],
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    for model in MODELS:
        shutil.copyfile(HERE / f"{model}.dcrf", folder / f"{model}.dcrf")
    families = [name.family for entry in lexical for names in entry.people.values() for name in names]
    _write_lexicon(folder / "families.txt", (word for family in families for word in family.split()))
    for lexicon, field in (("journals", "journal"), ("publishers", "publisher"), ("places", "place")):
        _write_lexicon(folder / f"{lexicon}.txt", (one.fields[field] for one in lexical if field in one.fields))
    new = [STYLES[name] for name in NEW_STYLES]
    known = [style for style in STYLES.values() if style not in new]
    data = Data(folder / "train.txt", folder / "known_styles.txt", folder / "new_styles.txt")
    references = (
        [render(entry, style) for entry in training for style in (draw.choice(known), varied(known, draw))],
        [render(entry, draw.choice(known)) for entry in testing],
        [render(entry, draw.choice(new)) for entry in testing],
    )
    for path, printed in zip(data, references, strict=True):
        path.write_text("\n".join(map(_lines, printed)), encoding="utf-8")
    return data


def _lines(reference: Sequence[Token]) -> str:
    return "".join(f"{token.word} {token.part}\n" for token in reference)


def _write_lexicon(path: Path, names: Iterable[str]) -> None:
    """Names in words and marks, as references are split."""
    entries = {" ".join(token.word for token in render_name(name)) for name in names}
    path.write_text("".join(f"{entry}\n" for entry in sorted(entries) if entry), encoding="utf-8")


def render_name(name: str) -> list[Token]:
    """A name alone, as it is printed in any reference."""
    return render(Entry("book", {}, {"title": name}), STYLES["plain"])[:-1]  # without the full stop


# models -------------------------------------------------------------------------------------------------------------


def repeats(parts: Sequence[str]) -> bool:
    """Whether a part begins twice."""
    begun = [part for part in parts if part.startswith("B-")]
    return len(set(begun)) < len(begun)


def train_and_test(model: str, data: Data, *, threads: int | None) -> tuple[TrainedModel, list[Figures]]:
    """The model, which is saved too, and its figures on both tests."""
    template = load_template(data.train.with_name(f"{model}.dcrf"))
    train, *tests = (read_corpus(path, template.require().data) for path in data)
    trained, taken = timed(lambda: fit(template, train, threads=threads))
    trained.save(data.train.with_name(f"{model}.model"))
    figures = [_figures(trained, test, threads) for test in tests]
    say(f"{model}: {trained.num_weights:,} weights on {train.num_sentences:,} references, {taken.seconds:.0f} s")
    return trained, figures


def _figures(model: TrainedModel, corpus: Corpus, threads: int | None) -> Figures:
    scores = model.evaluate(corpus, threads=threads)
    found = model.predict(corpus, threads=threads).texts("part")
    cuts = corpus.sentence_off.tolist()
    repeated = sum(repeats(found[begin:end]) for begin, end in pairwise(cuts))
    return Figures(100 * scores["segments(part).f1"], 100 * scores["sentence_accuracy"], repeated)


def main(argv: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--bib", type=Path, nargs="+", required=True, metavar="FILE.bib", help="entries to learn from")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="where data, models and the page go")
    parser.add_argument("--quick", action="store_true", help=f"with {QUICK_ENTRIES} entries")
    parser.add_argument("--threads", type=int, metavar="N", help="default: DCRFDSL_THREADS, else all cores")
    parser.add_argument("--seed", type=int, default=0, help="of the split, and of the style of each entry")
    options = parser.parse_args(argv)
    try:
        import bibtexparser  # noqa: F401  # asked for before anything is written
    except ImportError:
        say("skipped: the package `bibtexparser` is not installed; `pip install 'bibtexparser>=2'`")
        return 0
    with refusals():
        entries = without_doubles([entry for path in options.bib for entry in entries_of(path)])
        if len(entries) < 10:
            raise SystemExit(
                f"only {len(entries)} entries have a title, a year, and what else a reference needs; give more"
            )
        data = write_data(entries[:QUICK_ENTRIES] if options.quick else entries, options.out, seed=options.seed)
        rows = []
        for name in MODELS:
            model, figures = train_and_test(name, data, threads=options.threads)
            rows += [(name, where, one) for where, one in zip(("known styles", "new styles"), figures, strict=True)]
        page = options.out / "errors.html"
        model.report(read_corpus(data.new_styles, model.spec.data), page, title="References in styles that are new")
        table = empty_table("model", "tested on", *FIGURES, left={"tested on"})
        for name, where, one in rows:
            table.add_row(name, where, f"{one.f1:.2f}", f"{one.right:.2f}", str(one.repeated))
        print_table(table)
        say(f"{page} shows the errors of `{MODELS[-1]}` in new styles")
    return 0


if __name__ == "__main__":
    sys.exit(main())
