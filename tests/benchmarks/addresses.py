"""Addresses by the published model of usaddress: our tagger beside python-crfsuite's and a rewrite in Rust.

The taggers get the items that usaddress makes, one address or many at once; from text, usaddress makes its tokens and
items for both. Times are those of a token. Not here: addresses that people labelled (`examples/usaddress`).
"""

from __future__ import annotations

import marshal
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
    expected = [theirs.tag(one) for one in items]
    if [ours.tag(one) for one in items] != expected or ours.tag_all(items) != expected:
        raise RuntimeError("the taggers give different labels")

    def of_token(ask: Callable[[Any], Any], every: list[Any]) -> float:
        return seconds_of(lambda: [ask(one) for one in every], ROUNDS) / tokens

    of_theirs = of_token(theirs.tag, items)
    yield Figure(
        "tag_all, a token", seconds_of(lambda: ours.tag_all(items), ROUNDS) / tokens, "s",
        "items (nested dicts) to labels: all addresses in one call; python-crfsuite: a call an address",
        times_faster(8), of_theirs,
    )  # fmt: skip
    yield Figure(
        "tag, a token", of_token(ours.tag, items), "s", "both: items to labels, a call an address", None, of_theirs,
    )  # fmt: skip
    stream = seconds_of(lambda: marshal.dumps(items, 4), ROUNDS) / tokens
    yield Figure("the least for any reader of these dicts, a token", stream, "s", "`marshal.dumps`, in C", None, None)
    rust: float | str
    try:
        rust = of_token(peers.peer("fastaddress", "fastaddress").parse, texts)
    except Skip as reason:
        rust = str(reason)
    yield Figure(
        "from text, a token",
        seconds_of(lambda: ours.tag_all([usaddress.tokens2features(usaddress.tokenize(t)) for t in texts]), ROUNDS)
        / tokens,
        "s", "text to labels: tokens and items by usaddress, then tag_all; the other: fastaddress, in Rust",
        None, rust,
    )  # fmt: skip
    yield Figure(
        "usaddress.parse, a token", of_token(usaddress.parse, texts), "s", "text to labels by python-crfsuite", None,
        rust,
    )  # fmt: skip
