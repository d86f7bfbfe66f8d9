"""Lexicons: sets of entries, and maps from an entry to a value, read from a file once and kept in the model.

A file has one entry per line; `entry TAB value` on every line makes it a map. Blank lines are skipped, there are no
comments, and a repeated entry with the same value counts once. `span(word, places)` finds the longest entries in a
sequence, by a trie over the codes of words. Not here: comparisons with entries.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from ... import foundation
from ...foundation import dataclass
from ...kernels.extraction import insert, mark_spans
from ...semantics import ModelSpec

MAX_BYTES = 64 * 2**20  # a larger file is hardly a word list, and the model stores all of it


@dataclass(frozen=True)
class Lexicon:
    """`values[i]` is the value of `entries[i]`; a set has no values. `sha256` is the hash of the file.

    ignores_case: entries are case-folded, and so are the texts that are looked up.
    """

    name: str
    entries: tuple[str, ...]
    values: tuple[str, ...] | None
    sha256: str
    ignores_case: bool = False
    index: Mapping[str, str] = field(init=False, repr=False, compare=False)  # entry -> value ("" in a set)

    def __post_init__(self) -> None:
        values = self.values if self.values is not None else ("",) * len(self.entries)
        object.__setattr__(self, "index", dict(zip(self.entries, values, strict=True)))

    @property
    def test(self) -> Callable[[str], bool]:
        """Whether a text is an entry, as a function that is called for each text."""
        return (lambda text: text.casefold() in self.index) if self.ignores_case else self.index.__contains__

    def key(self, text: str) -> str:
        """The entry that a text would match."""
        return text.casefold() if self.ignores_case else text

    def looked_up(self, text: str) -> tuple[str, ...]:
        """The value of a text in a map, or nothing."""
        key = self.key(text)
        return (self.index[key],) if key in self.index else ()


class LexiconRecord(BaseModel, strict=True, extra="forbid"):
    """A lexicon in a model file, except its texts."""

    name: str
    entries: foundation.Count
    map: bool
    sha256: str
    ignores_case: bool = False  # not in older files


@dataclass(frozen=True)
class Lexicons:
    """The lexicons of a model, by name."""

    by_name: Mapping[str, Lexicon] = field(default_factory=dict)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All entries and values as one packed table of strings."""
        lists = ((*lexicon.entries, *(lexicon.values or ())) for lexicon in self.by_name.values())
        data, off = foundation.pack_strings(chain.from_iterable(lists))
        return {"lexicon_bytes": data, "lexicon_off": off}

    def metadata(self) -> list[dict[str, Any]]:
        """The rest, as plain JSON values."""
        return [
            {
                "name": one.name,
                "entries": len(one.entries),
                "map": one.values is not None,
                "sha256": one.sha256,
                **({"ignores_case": True} if one.ignores_case else {}),
            }
            for one in self.by_name.values()
        ]

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]], metadata: Sequence[object]) -> Lexicons:
        """From `arrays()` and `metadata()`; `IncompatibleState` if they do not fit together."""
        records: list[LexiconRecord] = foundation.typed(list[LexiconRecord], metadata, "lexicons")
        data = foundation.array(arrays, "lexicon_bytes", np.uint8)
        off = foundation.array(arrays, "lexicon_off", np.int64)
        foundation.check_strings(data, off, "lexicon_off")
        expected = sum(one.entries * (1 + one.map) for one in records)
        if expected != len(off) - 1:
            raise foundation.IncompatibleState(f"the lexicons have {len(off) - 1:,} texts, expected {expected:,}")
        strings = iter(foundation.unpack_strings(data, off))
        by_name: dict[str, Lexicon] = {}
        for one in records:
            entries = tuple(islice(strings, one.entries))
            values = tuple(islice(strings, one.entries)) if one.map else None
            by_name[one.name] = Lexicon(one.name, entries, values, one.sha256, one.ignores_case)
        return cls(by_name)


def load_lexicons(spec: ModelSpec, directories: Mapping[str, Path]) -> Lexicons:
    """Reads every lexicon of a model. `directories[name]`: the directory of the file that declares it."""
    found = {}
    for one in spec.lexicons:
        path = directories.get(one.name, Path()) / one.path
        found[one.name] = read_lexicon(one.name, path, ignores_case=one.case == "ignore")
    return Lexicons(found)


def read_lexicon(name: str, path: Path, *, ignores_case: bool = False) -> Lexicon:
    """Reads one lexicon file.   ignores_case: entries are case-folded, and those that are then equal are one.

    Raises DcrfError `missing-lexicon`, `lexicon-too-large`, `not-utf8`, or `bad-lexicon` with the line.
    """
    file = str(path)
    try:
        raw = foundation.read_at_most(path, MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise foundation.data_error("missing-lexicon", f"cannot read lexicon `{name}`: {why}", file=file) from None
    if len(raw) > MAX_BYTES:
        raise foundation.data_error(
            "lexicon-too-large", f"lexicon `{name}` has more than {MAX_BYTES >> 20} MiB", file=file
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        reason = f"lexicon `{name}` is not UTF-8: byte 0x{raw[error.start]:02x}"
        raise foundation.data_error("not-utf8", reason, file=file, line=line) from None
    for char, words in _NO_TEXT.items():
        if char in text.replace("\r\n", "\n"):
            line = text.count("\n", 0, text.index(char)) + 1
            raise foundation.data_error("bad-lexicon", f"lexicon `{name}` {words}", file=file, line=line)
    pairs = _pairs(name, text, file, str.casefold if ignores_case else str)
    values = tuple(value for value in pairs.values() if value is not None)
    return Lexicon(name, tuple(pairs), values or None, hashlib.sha256(raw).hexdigest(), ignores_case)


_NO_TEXT = {
    "\0": "is a binary file, expected UTF-8 text",
    "\r": "has lines that end with a carriage return alone, expected line feeds",
}


def _pairs(name: str, text: str, file: str, key: Callable[[str], str]) -> dict[str, str | None]:
    """Entry → value (None in a set), in the order of the file. `key` makes an entry of what is written."""
    pairs: dict[str, str | None] = {}
    is_map: bool | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.rstrip("\r")
        if not line.strip():
            continue
        entry, _, value = (part.strip() for part in line.partition("\t"))
        value_here = value if line.count("\t") else None
        is_map = value_here is not None if is_map is None else is_map
        entry, reason = key(entry), ""
        if (value_here is not None) != is_map:
            expected = "an entry, a TAB and its value" if is_map else "one entry and no TAB"
            reason = f"`{foundation.shortened(line)}`: the lines before have {expected}"
        elif not entry or value_here == "" or "\t" in (value_here or ""):
            reason = f"`{foundation.shortened(line)}`: expected an entry, a TAB and its value"
        elif pairs.get(entry, value_here) != value_here:
            before, here = foundation.shortened(pairs[entry]), foundation.shortened(value_here)
            reason = f"`{foundation.shortened(entry)}` has the value `{before}` above and `{here}` here"
        if reason:
            raise foundation.data_error("bad-lexicon", reason, file=file, line=number)
        pairs[entry] = value_here
    if not pairs:
        raise foundation.data_error("bad-lexicon", f"lexicon `{name}` is empty", file=file)
    return pairs


# spans ----------------------------------------------------------------------------------------------------------------


def span_codes(
    codes: foundation.Codes, texts: list[tuple[str, ...]], sentence_off: foundation.Offsets, entries: Iterable[str]
) -> foundation.Ints32:
    """0 where an entry begins, 1 where it continues, -1 elsewhere, [N].

    Greedy from the left, the longest entry at each place; one-word entries count too. `texts[c]` is the word of code c.
    Entries are split at white space; an entry with a word that does not occur in the data cannot match and is skipped.
    """
    words: dict[str, int] = {}
    numbers = [words.setdefault(several[0], len(words)) if several else -1 for several in texts]
    code_of_value = np.array(numbers, np.int32)
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
