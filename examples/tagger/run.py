"""A joint morphological tagger of a treebank in CoNLL-U, beside a chain for each layer apart.

    python run.py --train en_ewt-ud-train.conllu --dev en_ewt-ud-dev.conllu --out tagger.json
    python run.py --turkish --out turkish.json
    python run.py --train … --dev … --out quick.json --quick

The joint model has one label for part of speech, the treebank's tag and all features together; the chains have one
each, and read the same. A second joint model reads clusters of words too, which `word_clusters.py` makes of the
training text alone, and a third also a lexicon of words with their tags, if there is one. `--turkish` takes the
treebank of `dcrfdsl demo` (extra `demo`), and tests on every fifth sentence.
A finished training is a line of a `.jsonl` file beside the result, so a run that was stopped goes on where it was.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))  # where `running` lies

from running import (
    Log,
    add_options,
    empty_table,
    exit_status,
    fingerprint,
    parser_of,
    refusals,
    say,
    tags_of_words,
    timed,
    write,
)
from word_clusters import sentences_of_files, word_clusters

from dcrfdsl import fit, load_template, read_corpus
from dcrfdsl.cli.demo_command import treebank as treebank_file
from dcrfdsl.cli.report import duration, print_table
from dcrfdsl.data import Corpus
from dcrfdsl.foundation import memory_in_use

HERE = Path(__file__).parent
LAYERS = ("upos", "xpos", "feats")
JOINT = {"joint": "tagger.dcrf", "joint, clusters": "clustered.dcrf", "joint, lexicon": "lexical.dcrf"}
LEXICAL = "joint, lexicon"
MODELS = (*JOINT, *LAYERS)
TEMPLATES = ("token.dcrf", *JOINT.values(), "apart.dcrf")
QUICK_SENTENCES, QUICK_EPOCHS = 300, 2
LEAST = 3  # words that are rarer have no cluster
TURKISH, FIFTH = ("data/wiki.conllu", "data/web.conllu"), 5  # every fifth sentence is to test on

# UDPipe 1.2 on the test set of English EWT 2.5, tokens given, in percent. Another version and another part of the data.
PUBLISHED = {"UDPipe 1.2 (EWT 2.5, test set)": {"upos": 94.4, "xpos": 93.9, "feats": 95.4, "all": 92.5}}


class Job(NamedTuple):
    """One of `JOINT`, or the layer of a chain."""

    model: str


class Treebank:
    """The two parts of a treebank, the folder of templates with their clusters, and trainings on them."""

    def __init__(
        self, train: Path, dev: Path, folder: Path, *, quick: bool, threads: int | None, lexicon: Path | None = None
    ):
        self.train, self.dev, self.folder, self.quick, self.threads = train, dev, folder, quick, threads
        folder.mkdir(parents=True, exist_ok=True)
        for name in TEMPLATES:
            shutil.copyfile(HERE / name, folder / name)
        paths = word_clusters(list(sentences_of_files([train])), least=LEAST)
        clusters = "".join(f"{word}\t{path}\n" for word, path in paths.items())
        (folder / "clusters.txt").write_text(clusters, encoding="utf-8")
        if lexicon is not None:
            (folder / "lexicon.txt").write_text(tags_of_words(lexicon.read_text(encoding="utf-8")), encoding="utf-8")

    def template(self, job: Job) -> Path:
        """The template of a job. The chain of a layer reads its column."""
        if job.model in JOINT:
            return self.folder / JOINT[job.model]
        text = (self.folder / "apart.dcrf").read_text(encoding="utf-8").replace("tag = xpos", f"tag = {job.model}")
        path = self.folder / f"{job.model}.dcrf"
        path.write_text(text, encoding="utf-8")
        return path

    def corpora(self, job: Job) -> tuple[Corpus, Corpus]:
        """Both parts as the template reads them; in a quick run their first sentences."""
        data = load_template(self.template(job)).require().data
        parts = [read_corpus(path, data) for path in (self.train, self.dev)]
        return tuple(part.slice(0, min(QUICK_SENTENCES, part.num_sentences)) if self.quick else part for part in parts)  # type: ignore[return-value]  # two of two

    def settings(self) -> list[str]:
        return [f"train.optimizer=sgd(epochs = {QUICK_EPOCHS})"] if self.quick else []

    def fingerprint(self, job: Job) -> str:
        return fingerprint(load_template(self.template(job)).require().model_dump_json(), self.corpora(job))

    def run(self, job: Job) -> dict[str, Any]:
        """Trains a model and tags the dev part."""
        template = load_template(self.template(job), self.settings())
        train, dev = self.corpora(job)
        model, taken = timed(lambda: fit(template, train, threads=self.threads))
        file = self.template(job).with_suffix(".model")
        model.save(file)
        model.predict(dev.slice(0, 1), threads=self.threads)  # the kernels are compiled before the clock starts
        start = time.perf_counter()
        prediction = model.predict(dev, threads=self.threads)
        seconds = time.perf_counter() - start
        seen = set(train.text_column("word").values)
        unknown = [text not in seen for text in _texts(dev, "word")]
        return {
            **job._asdict(), "inputs": self.fingerprint(job), **taken._asdict(),
            "weights": len(model.weights), "bytes": file.stat().st_size, "memory": memory_in_use(),
            "tokens_per_second": dev.num_tokens / seconds, "tokens": dev.num_tokens, "unknown": unknown,
            "right": _right(_texts(dev, "tag"), prediction.texts("tag"), job),
        }  # fmt: skip


def turkish_parts(folder: Path) -> tuple[Path, Path]:
    """Writes the two parts of the Turkish treebank that `dcrfdsl demo` has; their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    blocks = [
        block
        for name in TURKISH
        for block in treebank_file(name).read_text(encoding="utf-8").split("\n\n")
        if block.strip()
    ]
    parts = folder / "turkish-train.conllu", folder / "turkish-dev.conllu"
    for path, is_dev in zip(parts, (False, True), strict=True):
        chosen = [block for n, block in enumerate(blocks) if (n % FIFTH == FIFTH - 1) == is_dev]
        path.write_text("".join(f"{block.strip()}\n\n" for block in chosen), encoding="utf-8")
    return parts


def _texts(corpus: Corpus, column: str) -> list[str]:
    interned = corpus.text_column(column)
    return [str(interned.values[code]) for code in interned.codes.tolist()]


def _right(gold: Sequence[str], predicted: Sequence[str], job: Job) -> dict[str, list[bool]]:
    """Whether each token is right, by layer."""
    if job.model not in JOINT:
        return {job.model: [one == other for one, other in zip(gold, predicted, strict=True)]}
    pairs = [(one.split(" "), other.split(" ")) for one, other in zip(gold, predicted, strict=True)]
    return {layer: [one[n] == other[n] for one, other in pairs] for n, layer in enumerate(LAYERS)}


def shares(right: Mapping[str, Sequence[bool]], unknown: Sequence[bool]) -> dict[str, dict[str, float]]:
    """In percent, of the layers and of all of them together: of all tokens, and of known and unknown words apart."""
    table = {layer: np.array(right[layer], np.bool_) for layer in LAYERS}
    table["all"] = np.logical_and.reduce(list(table.values()))
    new = np.array(unknown, np.bool_)
    kinds = {"every": np.ones(len(new), np.bool_), "known": ~new, "unknown": new}
    return {
        kind: {layer: 100.0 * float(row[of].mean()) if of.any() else 0.0 for layer, row in table.items()}
        for kind, of in kinds.items()
    }


def reproduce(
    treebank: Treebank,
    log: Log[Job],
    out: Path,
    models: Sequence[str],
    talk: bool = True,
    published: Mapping[str, Any] = PUBLISHED,
) -> dict[str, Any]:
    """Trains those of `models` that `log` does not have yet, and writes everything to `out`. Ctrl-C keeps what has
    finished.
    """
    records: dict[str, dict[str, Any]] = {}
    complete = True
    try:
        for name in models:
            records[name] = log.record(treebank, Job(name), _line if talk else None)
    except KeyboardInterrupt:
        complete = False
        log.say_stopped()
    rows: dict[str, dict[str, dict[str, float]]] = {}
    for name in JOINT:
        if name in records:
            rows[name] = shares(records[name]["right"], records[name]["unknown"])
    if set(LAYERS) <= set(records):
        right = {layer: records[layer]["right"][layer] for layer in LAYERS}
        rows["chains apart"] = shares(right, records["upos"]["unknown"])
    costs = {name: {key: one[key] for key in _COSTS} for name, one in records.items()}
    result = {"complete": complete, "rows": rows, "costs": costs, "published": published}
    write(result, out)
    return result


_COSTS = ("seconds", "cpu_seconds", "weights", "bytes", "memory", "tokens_per_second")


def _line(record: Mapping[str, Any]) -> str:
    return f"{duration(record['seconds'])}, {record['weights']:,} weights"


def show(result: Mapping[str, Any]) -> None:
    """The tables as text."""
    table = empty_table("tokens right, %", "words", *LAYERS, "all", left=("words",))
    for name, kinds in result["rows"].items():
        for kind, row in kinds.items():
            table.add_row(name, kind, *(f"{row[layer]:.2f}" for layer in (*LAYERS, "all")))
    for name, row in result["published"].items():
        table.add_row(name, "every", *(f"{row[layer]:.1f}" for layer in (*LAYERS, "all")))
    print_table(table)
    costs = empty_table("model", "training", "weights", "file", "memory after", "tokens/s")
    for name, cost in result["costs"].items():
        costs.add_row(
            name, duration(cost["seconds"]), f"{cost['weights']:,}", f"{cost['bytes'] / 1e6:.1f} MB",
            f"{cost['memory'] / 1e6:,.0f} MB", f"{cost['tokens_per_second']:,.0f}",
        )  # fmt: skip
    say()
    print_table(costs)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--train", type=Path, metavar="FILE.conllu")
    parser.add_argument("--dev", type=Path, metavar="FILE.conllu")
    parser.add_argument("--turkish", action="store_true", help="the treebank of `dcrfdsl demo`, in place of files")
    parser.add_argument("--lexicon", type=Path, metavar="FILE", help="lines of a word and its tags, split by spaces")
    parser.add_argument("--model", action="append", choices=MODELS, help="default: all that the files allow")
    quick = f"{QUICK_SENTENCES} sentences of each part, {QUICK_EPOCHS} passes"
    add_options(parser, quick=quick, beside="its log .jsonl and a folder of models")
    given = parser.parse_args(arguments)
    named = [path for path in (given.train, given.dev) if path is not None]
    if len(named) != (0 if given.turkish else 2):
        parser.error("expected --train and --dev, or --turkish")
    if given.lexicon is None and LEXICAL in (given.model or ()):
        parser.error(f"`--model {LEXICAL!r}` needs --lexicon")
    models = given.model or [name for name in MODELS if given.lexicon is not None or name != LEXICAL]
    with refusals():
        folder = given.out.with_suffix("")
        train, dev = turkish_parts(folder) if given.turkish else (given.train, given.dev)
        treebank = Treebank(train, dev, folder, quick=given.quick, threads=given.threads, lexicon=given.lexicon)
        published = {} if given.turkish else PUBLISHED
        log = Log(given.out.with_suffix(".jsonl"), Job)
        result = reproduce(treebank, log, given.out, models, published=published)
        show(result)
    return exit_status(result)


if __name__ == "__main__":
    sys.exit(main())
