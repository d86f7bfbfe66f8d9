"""`span(word, places)`: the longest entries of a lexicon in a sequence, by a trie over the codes of words."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...foundation import Codes, Ints32, Offsets
from ...kernels.extraction import insert, mark_spans


def span_codes(codes: Codes, texts: list[tuple[str, ...]], sentence_off: Offsets, entries: Iterable[str]) -> Ints32:
    """0 where an entry begins, 1 where it continues, -1 elsewhere, [N].

    Greedy from the left, the longest entry at each place; one-word entries count too. `texts[c]` is the word of code c.
    Entries are split at white space; an entry with a word that does not occur in the data cannot match and is skipped.
    """
    words: dict[str, int] = {}
    code_of_value = np.array(
        [words.setdefault(several[0], len(words)) if several else -1 for several in texts], np.int32
    )
    node_of: dict[tuple[int, int], int] = {}
    final = [False]
    for entry in entries:
        path = [words.get(word, -1) for word in entry.split()]
        if not path or min(path) < 0:
            continue
        node = 0
        for code in path:
            node = node_of.setdefault((node, code), len(final))
            if node == len(final):
                final.append(False)
        final[node] = True
    num_codes = max(1, len(words))
    capacity = 1 << (2 * len(node_of) + 1).bit_length()
    slot_key, slot_id = np.full(capacity, -1, np.int64), np.zeros(capacity, np.int32)
    keys = np.array([node * num_codes + code for node, code in node_of], np.int64)
    insert(keys, np.array(list(node_of.values()), np.int32), slot_key, slot_id)
    tokens = code_of_value[codes] if len(texts) else np.full(len(codes), -1, np.int32)
    tokens = np.where(codes >= 0, tokens, -1).astype(np.int32)
    return mark_spans(tokens, np.array(sentence_off, np.int64), slot_key, slot_id, np.array(final), num_codes)
