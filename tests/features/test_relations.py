"""Pairs that relational cliques join, against the definition: every pair of positions tried in turn."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.features import relation_instances as relations
from dcrfdsl.features.extract import FeatureExtractor
from dcrfdsl.features.relation_instances import relate
from dcrfdsl.features.values.distinct_values import CorpusValues
from dcrfdsl.features.values.lexicons import Lexicons
from dcrfdsl.semantics.resolve.resolution import load_text

HEAD = "data conll(word, pos, size:float, head, tag)\nlabel tag\nclique tag: word\n"


def sentences(count=30, longest=9, seed=0):
    generator = np.random.default_rng(seed)
    return [
        [
            (
                "aAbB"[generator.integers(4)],
                "NV"[generator.integers(2)],
                str(generator.integers(3)),
                str(generator.integers(0, 5)),
                "PQ"[generator.integers(2)],
            )
            for _ in range(int(generator.integers(1, longest + 1)))
        ]
        for _ in range(count)
    ]


def lower(sentence, t):
    return sentence[t][0].lower() if 0 <= t < len(sentence) else None


# (the clique, what must hold of sentence, i and j, the options)
CLIQUES = {
    "same word": (
        "tag[i], tag[j] where word[i] = word[j]",
        lambda s, i, j: s[i][0] == s[j][0],
        {},
    ),
    "any letter case, all, at most 3 apart": (
        "tag[i], tag[j] where lower(word)[i] = lower(word[j]) with link = all, max_gap = 3",
        lambda s, i, j: s[i][0].lower() == s[j][0].lower(),
        {"all": True, "most": 3},
    ),
    "two equalities and tests of one side": (
        "tag[i], tag[j] where word[i] = word[j] and pos[i] = pos[j] and word[i] matches /[A-Z]/ and pos[j] is N",
        lambda s, i, j: s[i][:2] == s[j][:2] and s[i][0].isupper() and s[j][1] == "N",
        {},
    ),
    "neighbours that are compared": (
        "tag[i], tag[j] where word[i] = word[j] and not lower(word)[i-1] = lower(word)[j+1] with min_gap = 2",
        lambda s, i, j: s[i][0] == s[j][0] and i > 0 and j + 1 < len(s) and lower(s, i - 1) != lower(s, j + 1),
        {"least": 2},
    ),
    "either of two reasons": (
        "tag[i], tag[j] where word[i] = word[j] or pos[i] is V and pos[j] is N",
        lambda s, i, j: s[i][0] == s[j][0] or (s[i][1] == "V" and s[j][1] == "N"),
        {},
    ),
    "numbers": (
        "tag[i], tag[j] where size[i] = size[j] with link = all",
        lambda s, i, j: s[i][2] == s[j][2],
        {"all": True},
    ),
    "arcs": (
        "tag[i], tag[j] where index[j] = head[i] with order = any",
        lambda s, i, j: s[i][3] == str(j + 1),
        {"any": True},
    ),
    "no equality": (
        "tag[i], tag[j] where pos[i] is V and pos[j] is N",
        lambda s, i, j: s[i][1] == "V" and s[j][1] == "N",
        {},
    ),
    "sites that must exist": (
        "tag[i-1], tag[i], tag[j+1] where word[i] = word[j]",
        lambda s, i, j: s[i][0] == s[j][0] and i > 0 and j + 1 < len(s),
        {},
    ),
    "sites that must differ": (
        "tag[i+1], tag[j] where word[i] = word[j] with link = all",
        lambda s, i, j: s[i][0] == s[j][0] and i + 1 != j,
        {"all": True},
    ),
}


def by_definition(sentence, holds, options):
    least, most = options.get("least", 1), options.get("most", len(sentence))
    found = []
    for i in range(len(sentence)):
        candidates = range(len(sentence)) if options.get("any") else range(i + 1, len(sentence))
        good = [j for j in candidates if j != i and least <= abs(j - i) <= most and holds(sentence, i, j)]
        found += [(i, j) for j in (good if options.get("all") or options.get("any") else good[:1])]
    return tuple(found)


def values_of(clique, rows):
    spec = load_text(f"{HEAD}clique {clique}\n").require()
    corpus = corpus_from_rows(rows, spec.data)
    return spec.cliques[1], CorpusValues(spec, corpus, Lexicons({}), {}, {}), corpus


@pytest.mark.parametrize("name", CLIQUES)
def test_pairs_are_those_of_the_definition(name):
    text, holds, options = CLIQUES[name]
    rows = sentences()
    clique, values, corpus = values_of(text, rows)
    pairs = relate(clique, values)
    found = [pairs.local(s, corpus.sentence_off) for s in range(len(rows))]
    expected = [by_definition(sentence, holds, options) for sentence in rows]
    assert found == expected
    assert sum(map(len, expected)) > 5


@pytest.mark.long
def test_a_long_sequence_is_joined_without_trying_all_pairs():
    """200,000 positions: all pairs would be 2·10^10."""
    rows = [[(f"w{t % 50_000}", "N", "0", "0", "P") for t in range(200_000)]]
    clique, values, _ = values_of("tag[i], tag[j] where word[i] = word[j]", rows)
    pairs = relate(clique, values)
    assert len(pairs.first) == 150_000
    assert (pairs.second - pairs.first == 50_000).all()


def test_too_many_pairs_are_refused_before_they_are_made(monkeypatch):
    monkeypatch.setattr(relations, "MOST_PAIRS", 10)
    clique, values, _ = values_of("tag[i], tag[j] where pos[i] = pos[j] with link = all", sentences())
    with pytest.raises(Exception, match="would join") as caught:
        relate(clique, values)
    assert caught.value.diagnostics[0].slug == "too-many-pairs"


def test_features_of_pairs_are_the_same_when_read_again():
    """Extraction of the training data gives the rows that learning gave; other data its own."""
    text = "tag[i], tag[j] where word[i] = word[j]: bias, word[i-1] & pos[j+1], size[j], lower(word)[i]"
    spec = load_text(f"{HEAD}clique {text}\n").require()
    corpus = corpus_from_rows(sentences(), spec.data)
    extractor, learned = FeatureExtractor.learn(spec, corpus, resources=Lexicons({}))
    again = extractor.extract(corpus)
    for first, second in itertools.zip_longest(learned, again):
        assert first.row_off.tolist() == second.row_off.tolist()
        assert first.feature.tolist() == second.feature.tolist()
        assert first.value.tolist() == second.value.tolist()
    assert len(learned[1].row_off) == len(extractor.relations(extractor.values(corpus))[1].first) + 1
    names = {extractor.describe(1, n).partition("=")[0] for n in range(extractor.sets[1].num_features)}
    assert names == {"word[i-1]", "size[j]", "lower(word)[i]"}
