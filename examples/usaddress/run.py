"""The published model of usaddress beside one of ours, on labelled addresses of yours.

    python run.py
    python run.py --test labeled.xml us50_test_tagged.xml
    python run.py --train training/labeled.xml --test labeled.xml
    python run.py --train training/labeled.xml --folds 5
    python run.py --train training/labeled.xml --page errors.html

`usaddress` is used as it is: it imports `pycrfsuite`, and finds `dcrfdsl.crfsuite` under that name. What is not there
(the package, the labelled files) is said, and left out. Not here: files of labelled addresses (`labelled`), and how
our model is made (`ours`).
"""

from __future__ import annotations

import importlib.util
import random
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

sys.path.append(str(Path(__file__).parents[1]))  # where `running` lies

from labelled import Address, labelled_addresses
from ours import CROSSING, RULED, UNRULED, Row, corpus_of, labels_by, repeats_a_part, train
from running import parser_of, refusals, say, timed

import dcrfdsl.crfsuite
from dcrfdsl.crfsuite import native_model, read_crfsuite_file

SHOWN = (
    "123 Main St. Suite 100 Chicago, IL 60601",
    "P.O. Box 42, Santa Fe NM 87501",
    "Attn: J. Smith, 59-17 Junction Blvd, 17th Floor, Flushing, New York",
)
# How parserator, the trainer of usaddress, trains.
PUBLISHED = {"c1": 0.1, "c2": 0.01, "feature.minfreq": 0}

Labels = tuple[str, ...]
Labeller = Callable[[Sequence[Sequence[str]]], Sequence[Labels]]


def usaddress_with_ours() -> ModuleType | None:
    """The package, with our tagger in the place of python-crfsuite's; None if it is not installed."""
    found = importlib.util.find_spec("usaddress")
    if found is None or found.origin is None:  # this folder has the same name, and is no package
        return None
    sys.modules["pycrfsuite"] = dcrfdsl.crfsuite
    return importlib.import_module("usaddress")


# scores -------------------------------------------------------------------------------------------------------------


class Score(NamedTuple):
    """What came of labelling addresses. `repeated` of them `usaddress.tag` would refuse."""

    right: int
    tokens: int
    whole: int
    addresses: int
    repeated: int

    def __str__(self) -> str:
        return (
            f"tokens right {self.right / self.tokens:7.2%}   addresses right {self.whole / self.addresses:7.2%}"
            f"   with a repeated part {self.repeated:3}"
        )


def score_of(found: Sequence[Labels], addresses: Sequence[Address]) -> Score:
    """Where usaddress splits an address into other tokens than the file, all of them are wrong."""
    right = whole = 0
    for labels, address in zip(found, addresses, strict=True):
        if len(labels) == len(address.labels):
            right += sum(one == gold for one, gold in zip(labels, address.labels, strict=True))
        whole += labels == address.labels
    tokens = sum(len(address.labels) for address in addresses)
    return Score(right, tokens, whole, len(addresses), sum(map(repeats_a_part, found)))


def together(scores: Sequence[Score]) -> Score:
    return Score(*map(sum, zip(*scores, strict=True)))


# models -------------------------------------------------------------------------------------------------------------


def published(usaddress: ModuleType) -> Labeller:
    """The model of the package."""
    return lambda addresses: [tuple(usaddress.TAGGER.tag(usaddress.tokens2features(one))) for one in addresses]


def published_again(usaddress: ModuleType, rows: Sequence[Row]) -> Labeller:
    """A model like that of the package, trained on these rows: its features, its trainer's settings."""
    trainer = dcrfdsl.crfsuite.Trainer(verbose=False, params=PUBLISHED)
    for row in rows:
        trainer.append(usaddress.tokens2features(list(row.tokens)), list(row.labels))
    tagger = dcrfdsl.crfsuite.Tagger()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "again.crfsuite")
        trainer.train(path)
        tagger.open(path)
    return lambda addresses: [tuple(tagger.tag(usaddress.tokens2features(list(one)))) for one in addresses]


def trained(
    rows: Sequence[Row], template: Path = RULED, start: dcrfdsl.TrainedModel | None = None
) -> dcrfdsl.TrainedModel:
    """Our model, trained on these rows."""
    (model, left_out), taken = timed(lambda: train(rows, template, start=start))
    kept = len(rows) - left_out
    say(
        f"{template.name} trained on {kept:,} addresses in {taken.seconds:.0f} s; left out, as parts repeat: {left_out}"
    )
    return model


def labeller_of(model: dcrfdsl.TrainedModel, name: str) -> Labeller:
    """A model of ours as what labels addresses."""

    def label(addresses: Sequence[Sequence[str]]) -> list[Labels]:
        found, taken = timed(lambda: labels_by(model, addresses))
        say(f"  {name} labelled {len(addresses):,} addresses, {taken.cpu_seconds / len(addresses):.1e} CPU s each")
        return found

    return label


# data ---------------------------------------------------------------------------------------------------------------


def rows_of(usaddress: ModuleType, addresses: Sequence[Address]) -> list[Row]:
    """The tokens of addresses that usaddress splits as the file does; the others cannot be learned from."""
    split = [Row(tuple(usaddress.tokenize(address.text)), address.labels) for address in addresses]
    return [row for row in split if len(row.tokens) == len(row.labels)]


def folds_of(rows: Sequence[Row], count: int, seed: int = 0) -> Iterator[tuple[list[Row], list[Row]]]:
    """(rows to train on, rows to test on), `count` times. An address that comes twice is in one fold."""
    keys = [re.sub(r"\W+", " ", " ".join(row.tokens).lower()).strip() for row in rows]
    order = sorted(set(keys))
    random.Random(seed).shuffle(order)
    fold = {key: number % count for number, key in enumerate(order)}
    for number in range(count):
        yield (
            [row for key, row in zip(keys, rows, strict=True) if fold[key] != number],
            [row for key, row in zip(keys, rows, strict=True) if fold[key] == number],
        )


# the run ------------------------------------------------------------------------------------------------------------


def show_model(usaddress: ModuleType) -> None:
    """What is in the published model, and a few addresses that it labels."""
    path = Path(usaddress.__file__ or "").parent / usaddress.MODEL_FILE
    model = read_crfsuite_file(path)
    native = native_model(model, path.name)
    say(
        f"{path.name}: {len(model.labels)} labels, {len(model.attributes):,} attributes, {native.num_weights:,} weights"
    )
    for text in SHOWN:
        say(f"\n{text}")
        for token, label in usaddress.parse(text):
            say(f"  {token:12}{label}")


def cross_validate(usaddress: ModuleType, rows: Sequence[Row], count: int, seed: int) -> None:
    """Each model trained on the same parts of the rows, and scored on the others.

    The rule is kept by decoding alone, so the model with it starts from the weights of that without it.
    """
    templates = (UNRULED, CROSSING, RULED)
    names = ("as published", *(one.name for one in templates))
    scores: dict[str, list[Score]] = {name: [] for name in names}
    kept: dict[str, list[Score]] = {name: [] for name in names}  # of addresses in which people repeat no part
    for training, held_out in folds_of(rows, count, seed):
        gold = [Address(" ".join(row.tokens), row.labels) for row in held_out]
        chain, crossing = (trained(training, template) for template in (UNRULED, CROSSING))
        models = zip(templates, (chain, crossing, trained(training, RULED, crossing)), strict=True)
        labellers = [published_again(usaddress, training), *(labeller_of(one, path.name) for path, one in models)]
        fair = [n for n, row in enumerate(held_out) if not repeats_a_part(row.labels)]
        for name, labeller in zip(names, labellers, strict=True):
            found = labeller([row.tokens for row in held_out])
            scores[name].append(score_of(found, gold))
            kept[name].append(score_of([found[n] for n in fair], [gold[n] for n in fair]))
    say(f"\n{count} folds of {len(rows):,} addresses (seed {seed}); each model trained on the other folds")
    for name, of_folds in scores.items():
        say(f"  {name:14}{together(of_folds)}")
    say(f"people repeat a part in {sum(repeats_a_part(row.labels) for row in rows)}; in the others:")
    for name, of_folds in kept.items():
        say(f"  {name:14}{together(of_folds)}")


def write_page(rows: Sequence[Row], path: Path) -> None:
    """A page of the errors on a fifth of the addresses, by our model trained on the others."""
    training, held_out = next(folds_of(rows, 5))
    model, _ = train(training)
    fair = [row for row in held_out if not repeats_a_part(row.labels)]
    model.report(corpus_of(fair), path, title="Addresses that the model has not seen")
    say(f"\n{path}: errors on {len(fair):,} addresses; not on it, as people repeat a part: {len(held_out) - len(fair)}")


def compare(usaddress: ModuleType, path: Path, models: dict[str, Labeller]) -> None:
    """The scores of models on a file."""
    addresses = [address for address in labelled_addresses(path) if usaddress.tokenize(address.text)]
    if not addresses:
        say(f"\n{path.name}: no addresses")
        return
    tokens = [usaddress.tokenize(address.text) for address in addresses]
    say(f"\n{path.name}: {len(addresses):,} addresses, {sum(len(one.labels) for one in addresses):,} tokens")
    for name, labeller in models.items():
        say(f"  {name:14}{score_of(labeller(tokens), addresses)}")


def main(argv: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    files = {"type": Path, "nargs": "+", "default": [], "metavar": "FILE.xml"}
    parser.add_argument("--test", help="labelled addresses to score models on", **files)
    parser.add_argument("--train", help="labelled addresses to train a model of ours on", **files)
    parser.add_argument("--folds", type=int, metavar="N", help="cross-validate on the files of --train")
    parser.add_argument("--seed", type=int, default=0, help="which addresses are in which fold (default: 0)")
    parser.add_argument(
        "--page", type=Path, metavar="FILE.html", help="write the errors on a fifth of --train to a page"
    )
    options = parser.parse_args(argv)
    if options.folds is not None and (options.folds < 2 or not options.train):
        parser.error("--folds takes a number of 2 or more, and files by --train")
    if options.page is not None and not options.train:
        parser.error("--page takes files by --train")
    usaddress = usaddress_with_ours()
    if usaddress is None:
        say("skipped: the package `usaddress` is not installed; `pip install usaddress`")
        return 0
    with refusals():
        show_model(usaddress)
        models = {"published": published(usaddress)}
        if options.train:
            rows = rows_of(usaddress, [one for path in options.train for one in labelled_addresses(path)])
            say("")
            if options.folds:
                cross_validate(usaddress, rows, options.folds, options.seed)
            if options.page:
                write_page(rows, options.page)
            if options.test or not (options.folds or options.page):
                models["ours"] = labeller_of(trained(rows), RULED.name)
        if not (options.test or options.train):
            say("\nno labelled addresses: give files of usaddress's measure_performance/test_data by --test")
        for path in options.test:
            compare(usaddress, path, models)
    return 0


if __name__ == "__main__":
    sys.exit(main())
