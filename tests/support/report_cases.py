"""A model with two layers of labels that makes mistakes, data with hostile texts, and a reader of pages.

Not here: what a report should say.
"""

from __future__ import annotations

import json
import re
from functools import cache
from html.parser import HTMLParser

import numpy as np

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit

# One for each of the words a … f, which the model was trained on or not.
HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\"'><b onmouseover=alert(1)>`",
    "\u202eright to left\u2066 \u2028line",
    "{{ 7 * 7 }}{% raw %}&amp;&lt;",
    "<!--<script>\u0000\x1b[31m",
)
TEMPLATE = """data conll(word, pos, chunk)
label pos
label chunk in bio(X, Y)
clique pos as tags: bias, word
clique chunk as words: bias, word[-1..1]
clique chunk[-1], chunk as chain
clique pos, chunk as across
infer exact
train likelihood as first: optimizer = lbfgs(max_iterations = 2)
train likelihood as second after first: optimizer = lbfgs(max_iterations = 3)
evaluate accuracy(pos), segments(chunk), oov_accuracy(pos, word)
"""
VOID = {"meta", "link", "br", "img", "input", "hr"}


def two_layers(words="abcdef", states=("P", "Q")):
    """A model with random weights, and a corpus of 15 sentences with these words.

    words: six texts.   states: of the layer `pos`.
    """
    spec = load_text(TEMPLATE)
    generator = np.random.default_rng(4)
    marks = ("O", "B-X", "I-X", "B-Y", "I-Y")
    rows = []
    for length in generator.integers(1, 9, 15):
        before, sentence = "O", []
        for _ in range(length):
            kept = [m for m in marks if not m.startswith("I-") or before[1:] == m[1:]]
            before = kept[generator.integers(len(kept))]
            sentence.append((words[generator.integers(6)], states[generator.integers(len(states))], before))
        rows.append(sentence)
    corpus = corpus_from_rows(rows, spec.require().data)
    model = fit(spec, corpus, threads=1)
    weights = generator.normal(0, 1.5, model.num_weights)
    return model.with_weights(weights, model.record), corpus


class Page(HTMLParser):
    """A page as a list of tags, attributes and texts. Fails where tags do not close each other."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.texts, self.open, self.ids = [], [], [], []
        self.inside = {}  # text of each script and style, by (tag, type, id)
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        assert len(named) == len(attributes), f"an attribute of {tag} comes twice"
        self.tags.append((tag, named))
        if "id" in named:
            self.ids.append(named["id"])
        if tag not in VOID:
            self.open.append((tag, named))

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open[-1][0] == tag, f"</{tag}> closes {self.open[-1]}"
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1][0] in ("script", "style"):
            tag, named = self.open[-1]
            self.inside[tag, named.get("type"), named.get("id")] = data
        else:
            self.texts.append(data)

    @property
    def text(self):
        return "".join(self.texts)

    @property
    def data(self):
        return json.loads(self.inside["script", "application/json", "error-data"])


@cache
def read_page(text):
    return Page(text)


# colours ------------------------------------------------------------------------------------------------------------


def luminance(colour):
    """The relative luminance of `#rrggbb` (WCAG 2.2)."""
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    """The contrast of two colours, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def colour_pairs(style):
    """The colours of a style sheet by name: light and dark."""
    found = re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);", style)
    return {name: (light, dark) for name, light, dark in found}
