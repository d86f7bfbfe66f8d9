"""The published model of usaddress, opened by `dcrfdsl.crfsuite`, on labelled addresses of yours.

    python run.py
    python run.py --test labeled.xml us50_test_tagged.xml

`usaddress` is used as it is: it imports `pycrfsuite`, and finds `dcrfdsl.crfsuite` under that name. What is not there
(the package, the labelled files) is said, and left out. Not here: files of labelled addresses (`labelled`).
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

sys.path.append(str(Path(__file__).parents[1]))  # where `running` lies

from labelled import Address, labelled_addresses
from running import parser_of, refusals, say

import dcrfdsl.crfsuite
from dcrfdsl.crfsuite import native_model, read_crfsuite_file

__all__ = ["main", "score_of", "usaddress_with_ours"]

SHOWN = (
    "123 Main St. Suite 100 Chicago, IL 60601",
    "P.O. Box 42, Santa Fe NM 87501",
    "Attn: J. Smith, 59-17 Junction Blvd, 17th Floor, Flushing, New York",
)


def usaddress_with_ours() -> ModuleType | None:
    """The package, with our tagger in the place of python-crfsuite's; None if it is not installed."""
    found = importlib.util.find_spec("usaddress")
    if found is None or found.origin is None:  # this folder has the same name, and is no package
        return None
    sys.modules["pycrfsuite"] = dcrfdsl.crfsuite
    return importlib.import_module("usaddress")


def score_of(usaddress: ModuleType, addresses: Sequence[Address]) -> tuple[int, int, int]:
    """(tokens labelled right, tokens, addresses labelled right throughout).

    Where usaddress splits an address into other tokens than the file, all of them are wrong.
    """
    right = whole = 0
    for address in addresses:
        labels = tuple(label for _, label in usaddress.parse(address.text))
        if len(labels) == len(address.labels):
            right += sum(found == gold for found, gold in zip(labels, address.labels, strict=True))
        whole += labels == address.labels
    return right, sum(len(address.labels) for address in addresses), whole


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


def main(argv: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--test", type=Path, nargs="+", default=[], metavar="FILE.xml", help="labelled addresses")
    options = parser.parse_args(argv)
    usaddress = usaddress_with_ours()
    if usaddress is None:
        say("skipped: the package `usaddress` is not installed; `pip install usaddress`")
        return 0
    with refusals():
        show_model(usaddress)
        if not options.test:
            say("\nno labelled addresses: give files of usaddress's measure_performance/test_data by --test")
        for path in options.test:
            addresses = labelled_addresses(path)
            right, tokens, whole = score_of(usaddress, addresses)
            if not addresses:
                say(f"\n{path.name}: no addresses")
                continue
            say(f"\n{path.name}: {len(addresses):,} addresses, {tokens:,} tokens")
            say(f"  tokens right     {right / tokens:7.2%}")
            say(f"  addresses right  {whole / len(addresses):7.2%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
