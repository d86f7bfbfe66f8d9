"""Addresses by the published model of usaddress: our tagger beside python-crfsuite's and a rewrite in Rust.

Both taggers get the items that usaddress makes, and their time is that of a token. Not here: addresses that people
labelled (`examples/usaddress`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import peers
from figures import Figure, Skip, seconds_of, times_faster
from work import ROUNDS, SMOKE

from dcrfdsl.crfsuite import Tagger

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

ADDRESSES = 50 if SMOKE else 1500


def tagged_addresses() -> Iterator[Figure]:
    """Generated addresses by usaddress's model: our tagger, python-crfsuite's, and fastaddress as a whole."""
    from us_addresses import addresses

    usaddress, pycrfsuite = peers.peer("usaddress", "usaddress"), peers.peer("pycrfsuite", "python-crfsuite")
    path = str(Path(usaddress.__file__).with_name("usaddr.crfsuite"))
    texts = [text for text in addresses(ADDRESSES) if usaddress.tokenize(text)]
    items = [usaddress.tokens2features(usaddress.tokenize(text)) for text in texts]
    tokens = sum(map(len, items))
    ours, theirs = Tagger(), pycrfsuite.Tagger()
    ours.open(path)
    theirs.open(path)
    if [ours.tag(one) for one in items] != [theirs.tag(one) for one in items]:
        raise RuntimeError("the taggers give different labels")

    def of_token(ask: Callable[[Any], Any], every: list[Any]) -> float:
        return seconds_of(lambda: [ask(one) for one in every], ROUNDS) / tokens

    yield Figure(
        "tag, a token", of_token(ours.tag, items), "s", "both: items (nested dicts) to labels, a call an address",
        times_faster(8), of_token(theirs.tag, items),
    )  # fmt: skip
    rust: float | str
    try:
        rust = of_token(peers.peer("fastaddress", "fastaddress").parse, texts)
    except Skip as reason:
        rust = str(reason)
    yield Figure(
        "usaddress.parse, a token", of_token(usaddress.parse, texts), "s",
        "text to labels, with tokens and features, by python-crfsuite; the other: fastaddress, in Rust, without items",
        None, rust,
    )  # fmt: skip
