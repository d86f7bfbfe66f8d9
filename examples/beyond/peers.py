"""What other programs reach on the same data by their own training: CRFsuite, scikit-learn, NLTK and UDPipe.

    python peers.py --chunks train.txt test.txt --out peers.json
    python peers.py --names esp.train esp.testa --treebank train.conllu dev.conllu --out peers.json

CRFsuite and scikit-learn read the features of `attributes`, a label at a time for scikit-learn; NLTK and UDPipe have
features of their own. A peer that is not installed is left out. A finished training is a line of a `.jsonl` file beside
the result. Not here: our models (`run`).
"""

from __future__ import annotations

import importlib
import itertools
import pickle
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1]))  # where `running` lies

from columns import Rows, sentences_of
from running import Log, add_options, empty_table, exit_status, parser_of, refusals, say, timed, write

from dcrfdsl.cli.report import duration, print_table

LAYERS = ("upos", "xpos", "feats")
WINDOW = (-2, -1, 0, 1, 2)
QUICK_SENTENCES, QUICK_ITERATIONS = 150, 5
ITERATIONS = {"crfsuite": 100, "sklearn": 60, "nltk": 5, "udpipe": 20}

Labels = list[list[str]]
Tagger = Callable[[Sequence[Rows]], Labels]


class Job(NamedTuple):
    """data: of `PEERS`.   peer: of `ITERATIONS`.   layer: of a treebank, else empty; `all` has all layers at once."""

    data: str
    peer: str
    layer: str

    def __str__(self) -> str:
        return " ".join(part for part in self if part)


PEERS: Mapping[str, Sequence[tuple[str, str]]] = {
    "chunks": (("crfsuite", ""), ("sklearn", "")),
    "names": (("crfsuite", ""), ("sklearn", "")),
    "treebank": (("nltk", "xpos"), ("crfsuite", "xpos"), ("sklearn", "xpos"), ("udpipe", "all")),
}


class Trained(NamedTuple):
    """tag: labels of rows, whose last column is not read.   size: of the model, in bytes."""

    tag: Tagger
    size: int


def attributes(rows: Rows) -> list[list[str]]:
    """Of each token the words, and parts of speech where there are any, in a window of five, pairs of neighbours,
    prefixes, suffixes and shape. A row has a word, maybe a part of speech, and a label.
    """
    found = []
    for t, row in enumerate(rows):
        of_token = ["bias"]
        for column, name in enumerate(("w", "p")[: len(row) - 1]):
            around = {d: rows[t + d][column] if 0 <= t + d < len(rows) else "<>" for d in WINDOW}
            of_token += [f"{name}{d}={value}" for d, value in around.items()]
            of_token += [f"{name}{d}|{d + 1}={around[d]}|{around[d + 1]}" for d in WINDOW[:-1]]
            if name == "p":
                of_token += [f"p{d}|={around[d]}|{around[d + 1]}|{around[d + 2]}" for d in WINDOW[:-2]]
        word = row[0]
        of_token += [f"lower={word.lower()}", f"shape={_shape(word)}"]
        of_token += [f"prefix={word[:n]}" for n in range(1, 5)] + [f"suffix={word[-n:]}" for n in range(1, 5)]
        found.append(of_token)
    return found


def _shape(word: str) -> str:
    marks = ("X" if one.isupper() else "x" if one.islower() else "d" if one.isdigit() else one for one in word)
    return "".join(mark for mark, _ in itertools.groupby(marks))


def spans_of(labels: Sequence[str]) -> set[tuple[int, int, str]]:
    """Begin, end and type of each segment in IOB2; an I-X that continues nothing begins one, as in conlleval."""
    found, begin, kind = set(), 0, ""
    for t, label in enumerate([*labels, "O"]):
        goes_on = label.startswith("I-") and label[2:] == kind
        if kind and not goes_on:
            found.add((begin, t, kind))
            kind = ""
        if label != "O" and not goes_on:
            begin, kind = t, label[2:]
    return found


def f1_of(gold: Labels, predicted: Labels) -> float:
    """Of segments, in percent."""
    pairs = [(spans_of(one), spans_of(other)) for one, other in zip(gold, predicted, strict=True)]
    right = sum(len(one & other) for one, other in pairs)
    total = sum(len(one) + len(other) for one, other in pairs)
    return 200.0 * right / max(total, 1)


# peers --------------------------------------------------------------------------------------------------------------


def crfsuite(train: Sequence[Rows], iterations: int, file: Path) -> Trained:
    pycrfsuite = importlib.import_module("pycrfsuite")
    trainer = pycrfsuite.Trainer("lbfgs", {"c1": 0.0, "c2": 0.5, "max_iterations": iterations}, verbose=False)
    for rows in train:
        trainer.append(attributes(rows), [row[-1] for row in rows])
    trainer.train(str(file))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(file))
    return Trained(lambda test: [tagger.tag(attributes(rows)) for rows in test], file.stat().st_size)


def sklearn(train: Sequence[Rows], iterations: int, file: Path) -> Trained:
    """Logistic regression of each token."""
    text = importlib.import_module("sklearn.feature_extraction.text")
    linear = importlib.import_module("sklearn.linear_model")
    table = text.CountVectorizer(analyzer=list, binary=True, min_df=2)
    features = table.fit_transform(one for rows in train for one in attributes(rows))
    model = linear.LogisticRegression(C=1.0, max_iter=iterations)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it ends after the iterations that it is given
        model.fit(features, [row[-1] for rows in train for row in rows])
    file.write_bytes(pickle.dumps((table, model)))

    def tag(test: Sequence[Rows]) -> Labels:
        each = iter(model.predict(table.transform(one for rows in test for one in attributes(rows))).tolist())
        return [[next(each) for _ in rows] for rows in test]

    return Trained(tag, file.stat().st_size)


def nltk(train: Sequence[Rows], iterations: int, file: Path) -> Trained:
    """The averaged perceptron, greedily from left to right."""
    perceptron = importlib.import_module("nltk.tag.perceptron").PerceptronTagger(load=False)
    perceptron.train([[(row[0], row[-1]) for row in rows] for rows in train], nr_iter=iterations)
    file.write_bytes(pickle.dumps((perceptron.model.weights, perceptron.tagdict, perceptron.classes)))

    def tag(test: Sequence[Rows]) -> Labels:
        return [[label for _, label in perceptron.tag([row[0] for row in rows])] for rows in test]

    return Trained(tag, file.stat().st_size)


def udpipe(train: Sequence[Rows], iterations: int, file: Path) -> Trained:
    """One model of all three layers, which a row has as one label, split by TABs."""
    library = importlib.import_module("ufal.udpipe")

    def read(sentences: Sequence[Rows]) -> list[Any]:
        reader, error = library.InputFormat.newConlluInputFormat(), library.ProcessingError()
        reader.setText(conllu_of(sentences))
        found, one = [], library.Sentence()
        while reader.nextSentence(one, error):
            found.append(one)
            one = library.Sentence()
        if error.occurred():
            raise ValueError(error.message)
        return found

    own, error = library.Sentences(), library.ProcessingError()
    for one in read(train):
        own.append(one)
    options = f"models=1;templates=tagger;use_lemma=0;provide_lemma=0;use_xpostag=1;use_feats=1;iterations={iterations}"
    trained = library.Trainer.train("morphodita_parsito", own, library.Sentences(), "none", options, "none", error)
    if error.occurred():
        raise ValueError(error.message)
    file.write_bytes(trained)
    model = library.Model.load(str(file))

    def tag(test: Sequence[Rows]) -> Labels:
        sentences = read([[[row[0], "_\t_\t_"] for row in rows] for rows in test])
        for one in sentences:
            model.tag(one, "")
        return [
            ["\t".join((word.upostag, word.xpostag or "_", word.feats or "_")) for word in list(one.words)[1:]]
            for one in sentences
        ]

    return Trained(tag, file.stat().st_size)


def conllu_of(sentences: Sequence[Rows]) -> str:
    """Rows of a word and its layers, as CoNLL-U without heads."""
    blocks = (
        "".join(f"{n}\t{row[0]}\t_\t{row[-1]}\t_\t_\t_\t_\n" for n, row in enumerate(rows, 1)) for rows in sentences
    )
    return "\n".join(blocks) + "\n"


def treebank_rows(path: Path, layer: str) -> list[Rows]:
    """Rows of a word and a layer of a treebank; of layer `all` all three, split by TABs."""
    found: list[Rows] = []
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        words = [line.split("\t") for line in block.split("\n") if line.split("\t")[0].isdigit()]
        label = slice(3, 6) if layer == "all" else slice(3 + LAYERS.index(layer), 4 + LAYERS.index(layer))
        if words:
            found.append([[word[1], "\t".join(word[label])] for word in words])
    return found


TRAIN: Mapping[str, Callable[[Sequence[Rows], int, Path], Trained]] = {
    "crfsuite": crfsuite, "sklearn": sklearn, "nltk": nltk, "udpipe": udpipe,
}  # fmt: skip
MODULES = {"crfsuite": "pycrfsuite", "sklearn": "sklearn", "nltk": "nltk", "udpipe": "ufal.udpipe"}


class Data:
    """files: the two parts of each kind of data.   folder: where models go."""

    def __init__(self, files: Mapping[str, Sequence[Path]], folder: Path, quick: bool):
        self.files, self.folder, self.quick = files, folder, quick
        folder.mkdir(parents=True, exist_ok=True)

    def parts(self, job: Job) -> list[list[Rows]]:
        read = (treebank_rows(path, job.layer) if job.layer else sentences_of(path) for path in self.files[job.data])
        return [rows[:QUICK_SENTENCES] if self.quick else rows for rows in read]

    def iterations(self, job: Job) -> int:
        return min(QUICK_ITERATIONS, ITERATIONS[job.peer]) if self.quick else ITERATIONS[job.peer]

    def fingerprint(self, job: Job) -> str:
        counts = (sum(map(len, part)) for part in self.parts(job))
        return " ".join(map(str, (*job, *counts, self.iterations(job))))

    def run(self, job: Job) -> dict[str, Any]:
        train, test = self.parts(job)
        gold = [[row[-1] for row in rows] for rows in test]
        file = self.folder / f"{str(job).replace(' ', '-')}.model"
        trained, taken = timed(lambda: TRAIN[job.peer](train, self.iterations(job), file))
        start = time.process_time()
        found = trained.tag(test)
        seconds = time.process_time() - start
        tokens = sum(map(len, gold))
        pairs = [pair for one, other in zip(gold, found, strict=True) for pair in zip(one, other, strict=True)]
        scores: dict[str, float] = {"F1": f1_of(gold, found)} if not job.layer else {}
        if job.layer == "all":
            split = [(one.split("\t"), other.split("\t")) for one, other in pairs]
            for n, layer in enumerate(LAYERS):
                scores[layer] = 100.0 * sum(one[n] == other[n] for one, other in split) / tokens
        name = job.layer or "tokens"
        scores[name] = 100.0 * sum(one == other for one, other in pairs) / tokens
        return {
            **job._asdict(), "inputs": self.fingerprint(job), **taken._asdict(), "scores": scores,
            "bytes": trained.size, "tokens": tokens, "tokens_per_second": tokens / max(seconds, 1e-9),
        }  # fmt: skip


def reproduce(data: Data, log: Log[Job], out: Path, talk: bool = True) -> dict[str, Any]:
    """Trains what `log` does not have yet, and writes everything to `out`. Ctrl-C keeps what has finished."""
    records, absent, complete = [], [], True
    try:
        for kind in data.files:
            for peer, layer in PEERS[kind]:
                if not installed(peer):
                    absent.append(peer)
                    continue
                records.append(log.record(data, Job(kind, peer, layer), _line if talk else None))
    except KeyboardInterrupt:
        complete = False
        log.say_stopped()
    result = {"complete": complete, "absent": sorted(set(absent)), "trainings": records}
    write(result, out)
    return result


def installed(peer: str) -> bool:
    try:
        importlib.import_module(MODULES[peer])
    except ImportError:
        return False
    return True


def _line(record: Mapping[str, Any]) -> str:
    scores = ", ".join(f"{name} {value:.2f}" for name, value in record["scores"].items())
    return f"{duration(record['cpu_seconds'])} of processors, {scores}"


def show(result: Mapping[str, Any]) -> None:
    """The table as text."""
    table = empty_table("data", "peer", "right, %", "training, CPU", "model", "tokens/s", left=("peer", "right, %"))
    for one in result["trainings"]:
        scores = ", ".join(f"{name} {value:.2f}" for name, value in one["scores"].items())
        costs = f"{one['cpu_seconds']:,.0f} s", f"{one['bytes'] / 1e6:.1f} MB", f"{one['tokens_per_second']:,.0f}"
        table.add_row(one["data"], one["peer"], scores, *costs)
    print_table(table)
    for peer in result["absent"]:
        say(f"{peer} is not installed")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    for kind, meaning in (
        ("chunks", "lines `word pos chunk`"),
        ("names", "lines `word pos ner`"),
        ("treebank", "CoNLL-U"),
    ):
        parser.add_argument(f"--{kind}", type=Path, nargs=2, metavar=("TRAIN", "TEST"), help=meaning)
    add_options(parser, quick=f"{QUICK_SENTENCES} sentences", beside="its log .jsonl and a folder of models")
    options = parser.parse_args(arguments)
    files = {kind: getattr(options, kind) for kind in PEERS if getattr(options, kind) is not None}
    if not files:
        parser.error("expected --chunks, --names or --treebank")
    with refusals(ValueError):
        data = Data(files, options.out.with_suffix(""), options.quick)
        result = reproduce(data, Log(options.out.with_suffix(".jsonl"), Job), options.out)
        show(result)
    return exit_status(result)


if __name__ == "__main__":
    sys.exit(main())
