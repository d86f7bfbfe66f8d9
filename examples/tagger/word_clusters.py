"""Clusters of words from raw text: words that stand between the same neighbours get the same cluster.

    python word_clusters.py train.conllu -o clusters.txt
    python word_clusters.py news.txt train.conllu -o clusters.txt --least 3

A file that ends in `.conllu` gives its column FORM; of any other file a line is a sentence of words split by spaces.
Each line of the result is a word in lower case, a TAB, and its path in a tree of clusters: the first two letters are
the coarse cluster, all four the fine one. Words are rows of positive pointwise mutual information with the frequent
words to their left and right, reduced by a singular value decomposition (Bullinaria and Levy 2012, "Extracting semantic
representations from word co-occurrence statistics"), then cut twice by k-means. Not here: training and tagging (`run`).
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.linalg import svds

sys.path.append(str(Path(__file__).parents[1]))  # where `running` lies

from running import parser_of, refusals, say

from dcrfdsl.foundation import Floats, Ints

NEIGHBOURS = 2000  # how many frequent words count as neighbours
DIMENSIONS = 50
COARSE, FINE = 32, 12  # coarse clusters, and the most fine ones in each
ROUNDS = 40  # of k-means
EDGE = ""  # the neighbour beyond the sentence

Sentences = Sequence[Sequence[str]]


def sentences_of_files(paths: Iterable[Path]) -> Iterator[list[str]]:
    """The words of each sentence, in lower case."""
    for path in paths:
        words: list[str] = []
        for line in path.read_text(encoding="utf-8").split("\n"):
            if path.suffix != ".conllu":
                yield line.lower().split()
            elif not line.strip():
                yield words
                words = []
            elif line.split("\t")[0].isdigit():
                words.append(line.split("\t")[1].lower())
        if words:
            yield words


def word_clusters(sentences: Sentences, *, least: int, seed: int = 0) -> dict[str, str]:
    """The path of each word that occurs at least so often: two letters, or four where its coarse cluster was cut."""
    counts = Counter(word for words in sentences for word in words)
    words = sorted((word for word, count in counts.items() if count >= least), key=lambda word: (-counts[word], word))
    if len(words) <= COARSE:
        raise SystemExit(f"only {len(words)} words occur {least} times: too few to be put into clusters")
    vectors = _vectors(sentences, words, seed)
    rng = np.random.default_rng(seed)
    coarse = _k_means(vectors, COARSE, rng)
    paths = dict.fromkeys(words, "")
    for number in range(COARSE):
        members = np.flatnonzero(coarse == number)
        fine = _k_means(vectors[members], min(FINE, max(1, len(members) // 8)), rng)
        for member, inner in zip(members.tolist(), fine.tolist(), strict=True):
            paths[words[member]] = _letters(number) + _letters(inner)
    return paths


def _letters(number: int) -> str:
    """A number below 676 as two letters."""
    return chr(ord("a") + number // 26) + chr(ord("a") + number % 26)


def _vectors(sentences: Sentences, words: Sequence[str], seed: int) -> Floats:
    """A unit vector a word, [words, DIMENSIONS]."""
    row_of = {word: n for n, word in enumerate(words)}
    column_of = {word: n for n, word in enumerate([EDGE, *words[:NEIGHBOURS]])}
    rows, columns = [], []
    for sentence in sentences:
        padded = [EDGE, *sentence, EDGE]
        for n, word in enumerate(sentence):
            if word in row_of:
                for side, neighbour in enumerate((padded[n], padded[n + 2])):
                    if neighbour in column_of:
                        rows.append(row_of[word])
                        columns.append(2 * column_of[neighbour] + side)
    shape = (len(words), 2 * len(column_of))
    table = coo_array((np.ones(len(rows)), (rows, columns)), shape=shape).tocsr()
    left, values, _ = svds(_information(table), k=min(DIMENSIONS, min(shape) - 1), random_state=seed)
    vectors = np.asarray(left * np.sqrt(values))
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def _information(table: csr_array) -> csr_array:
    """max(0, log p(word, neighbour) / (p(word) p(neighbour))) of counts."""
    of_row, of_column, total = table.sum(axis=1), table.sum(axis=0), table.sum()
    pairs = table.tocoo()
    ratio = pairs.data * total / (of_row[pairs.row] * of_column[pairs.col])
    return coo_array((np.maximum(0.0, np.log(ratio)), (pairs.row, pairs.col)), shape=table.shape).tocsr()


def _k_means(points: Floats, number: int, rng: np.random.Generator) -> Ints:
    """The cluster of each point, by Lloyd's rounds from centres that are drawn far apart (Arthur and Vassilvitskii)."""
    centres = points[rng.integers(len(points))][None]
    while len(centres) < number:
        distance = np.min(_squared_distances(points, centres), axis=1)
        total = distance.sum()
        chosen = rng.choice(len(points), p=distance / total) if total > 0 else rng.integers(len(points))
        centres = np.vstack([centres, points[chosen]])
    nearest = np.zeros(len(points), np.int64)
    for _ in range(ROUNDS):
        nearest = np.argmin(_squared_distances(points, centres), axis=1)
        moved = np.array(
            [points[nearest == n].mean(axis=0) if (nearest == n).any() else centres[n] for n in range(number)]
        )
        if np.allclose(moved, centres):
            break
        centres = moved
    return nearest


def _squared_distances(points: Floats, centres: Floats) -> Floats:
    """[points, centres]"""
    distances: Floats = np.maximum(
        (points**2).sum(axis=1)[:, None] - 2.0 * points @ centres.T + (centres**2).sum(axis=1)[None], 0.0
    )
    return distances


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of(__doc__)
    parser.add_argument("files", nargs="+", type=Path, help="CoNLL-U, or text with a sentence a line")
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--least", type=int, default=3, metavar="N", help="leave rarer words out (default: 3)")
    parser.add_argument("--seed", type=int, default=0)
    given: argparse.Namespace = parser.parse_args(arguments)
    with refusals():
        sentences = list(sentences_of_files(given.files))
        paths = word_clusters(sentences, least=given.least, seed=given.seed)
        given.out.write_text("".join(f"{word}\t{path}\n" for word, path in paths.items()), encoding="utf-8")
    say(f"{len(paths):,} words in {len(set(paths.values())):,} clusters: {given.out}")


if __name__ == "__main__":
    main()
