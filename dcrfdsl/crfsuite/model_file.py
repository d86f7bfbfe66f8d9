"""CRFsuite's binary models: read into plain arrays, written again, and shown as `crfsuite dump` shows them.

A file has five chunks after its header; its offsets count from the beginning of the file, and numbers are 32-bit and
little-endian, weights 64-bit floats:

    "lCRF", size, "FOMC", version 100, numbers of features, labels and attributes, offsets of the chunks   12 words
    "FEAT", size, number; type (0 state, 1 transition), source, target, weight                             features
    a dictionary                                                                                           labels
    a dictionary                                                                                           attributes
    "LFRF", size, number, offsets; number, features                                                        references
    "AFRF", size, number, offsets; number, features                                                        references

The references list the features of each label and each attribute. CRFsuite writes 0 for the number of features in the
header, and two more references of labels than there are labels, which lead nowhere. Source: `lib/crf/src/crf1d_model.c`
and `crf1d_encode.c` of CRFsuite 0.12. Not here: the dictionaries (`cqdb`), scores (`tagger`).
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..foundation import READING, Codes, DcrfError, Diagnostic, Floats, Ints, clear_os_errors, dataclass, write_whole
from .cqdb import Damage, Key, cqdb_bytes, read_cqdb, words_at

CRFSUITE_VERSION = "0.12.2"  # whose files these are, and whose behaviour the module has
MAGIC = b"lCRF"
HEADER_BYTES = 48

_TYPE, _VERSION = b"FOMC", 100
_HEADER = struct.Struct("<4sI4s9I")
_HEADER_NAMES = (
    "magic", "size", "type", "version", "num_features", "num_labels", "num_attrs",
    "off_features", "off_labels", "off_attrs", "off_labelrefs", "off_attrrefs",
)  # fmt: skip
_CHUNK = struct.Struct("<4s2I")
_FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
_STATE, _TRANSITION = 0, 1
_SPARE_LABELS = 2  # references of labels that no label has
_MOST_LABELS = 1 << 13  # a tagger has tables of moves between all labels: half a gigabyte each
_LONGEST_FILE = (1 << 32) - 1  # bytes, as offsets have 32 bits
_LENGTHS = {"labels": b"LFRF", "attributes": b"AFRF"}


@dataclass(frozen=True)
class CrfsuiteModel:
    """A first-order linear chain over attributes, as CRFsuite stores it.

    labels:            [L]  the labels, by number
    attributes:        [A]  the attributes, by number; `bytes` where one is no UTF-8
    state_attributes:  [S] int32    the attribute of each state feature
    state_labels:      [S] int32    its label
    state_weights:     [S] float64  its weight, which the attribute's value multiplies
    transition_from:   [R] int32    the left label of each transition
    transition_to:     [R] int32    its right label
    transition_weights: [R] float64 its weight

    State features are in order of attributes and transitions in order of left labels when a file is read.
    """

    labels: Sequence[Key]
    attributes: Sequence[Key]
    state_attributes: Codes
    state_labels: Codes
    state_weights: Floats
    transition_from: Codes
    transition_to: Codes
    transition_weights: Floats


class ModelFileError(DcrfError, ValueError):
    """A CRFsuite model that cannot be read or written; a ValueError too, as python-crfsuite raises one."""


# reading ----------------------------------------------------------------------------------------------------------


def read_crfsuite_file(path: str | Path) -> CrfsuiteModel:
    """The model of a file. `ModelFileError` if the file is not a CRFsuite model, or a damaged one."""
    with clear_os_errors(path, READING):
        content = Path(path).read_bytes()
    return read_crfsuite(content, os.fspath(path))


def read_crfsuite(content: bytes, name: str = "<bytes>") -> CrfsuiteModel:
    """The model whose file has this content; `name` is that of the file in messages.

    `ModelFileError` if the content is not a CRFsuite model, or if one of its parts contradicts another. Memory and time
    are proportional to the length of the content.

    >>> read_crfsuite(b"nothing of the kind")
    Traceback (most recent call last):
    dcrfdsl.crfsuite.model_file.ModelFileError: error[not-a-model]: `<bytes>` is not a CRFsuite model ...
    """
    if content[: len(MAGIC)] != MAGIC:
        raise _error("not-a-model", name, f"`{name}` is not a CRFsuite model: it does not begin with `lCRF`", _SOURCE)
    if len(content) < HEADER_BYTES:
        raise _error("truncated-model", name, f"`{name}` ends after {len(content)} bytes, within its header", _AGAIN)
    size = _HEADER.unpack_from(content)[1]
    if size > len(content):
        message = f"`{name}` ends after {len(content):,} of {size:,} bytes"
        raise _error("truncated-model", name, message, _AGAIN)
    try:
        return _read(np.frombuffer(content, np.uint8))
    except Damage as damage:
        raise _error("corrupt-model", name, f"`{name}` is damaged: {damage}", _AGAIN) from None


def header_of(content: bytes) -> dict[str, str]:
    """What the file says of itself, in the words of `crfsuite dump`."""

    def shown(name: str, value: int | bytes) -> str:
        if isinstance(value, bytes):
            return value.decode("ascii")
        return f"0x{value:X}" if name.startswith("off_") else str(value)

    return {name: shown(name, value) for name, value in zip(_HEADER_NAMES, _HEADER.unpack_from(content), strict=True)}


def _read(content: NDArray[np.uint8]) -> CrfsuiteModel:
    header = _HEADER.unpack(content[:HEADER_BYTES].tobytes())
    kind, version, _, num_labels, num_attributes, features_at, labels_at, attributes_at, left_at, references_at = (
        header[2:]
    )
    if kind != _TYPE or version != _VERSION:
        raise Damage(f"it is of type {kind!r} and version {version}, expected {_TYPE!r} and {_VERSION}")
    features = _read_features(content, features_at)
    if not 0 < num_labels <= _MOST_LABELS:
        raise Damage(f"it is said to have {num_labels:,} labels, expected 1 to {_MOST_LABELS:,}")
    labels = read_cqdb(content, labels_at, num_labels, "labels")
    attributes = read_cqdb(content, attributes_at, num_attributes, "attributes")
    transitions, left = _references(content, left_at, num_labels, features, "labels")
    states, owner = _references(content, references_at, num_attributes, features, "attributes")
    _check_kind(states, owner, _STATE, num_labels, "attributes")
    _check_kind(transitions, left, _TRANSITION, num_labels, "labels")
    if len(states) + len(transitions) != len(features):
        raise Damage("some of its features belong to no attribute and no label")
    return CrfsuiteModel(
        labels,
        attributes,
        owner.astype(np.int32),
        states["target"].astype(np.int32),
        states["weight"].astype(np.float64),
        left.astype(np.int32),
        transitions["target"].astype(np.int32),
        transitions["weight"].astype(np.float64),
    )


def _read_features(content: NDArray[np.uint8], start: int) -> NDArray[np.void]:
    """The features [K] of their chunk, which may begin at any byte."""
    num = _chunk(content, start, b"FEAT", "features")
    first = start + _CHUNK.size
    if num > (len(content) - first) // _FEATURE.itemsize:
        raise Damage(f"it is said to have {num:,} features, more than fit into the file")
    features: NDArray[np.void] = np.frombuffer(content[first : first + num * _FEATURE.itemsize].tobytes(), _FEATURE)
    if not np.isfinite(features["weight"]).all():
        raise Damage("a weight is no finite number")
    return features


def _chunk(content: NDArray[np.uint8], start: int, magic: bytes, what: str) -> int:
    """The number that the head of a chunk says."""
    if start + _CHUNK.size > len(content):
        raise Damage(f"the {what} begin at byte {start:,}, beyond the end")
    found, _, num = _CHUNK.unpack(content[start : start + _CHUNK.size].tobytes())
    if found != magic:
        raise Damage(f"there are no {what} at byte {start:,}")
    return int(num)


def _references(
    content: NDArray[np.uint8], start: int, num: int, features: NDArray[np.void], what: str
) -> tuple[NDArray[np.void], Ints]:
    """The features of all `num` labels or attributes, owner by owner, and the owner of each."""
    head = f"references of the {what}"
    if _chunk(content, start, _LENGTHS[what], head) < num or start + _CHUNK.size + 4 * num > len(content):
        raise Damage(f"there are fewer {head} than {what}")
    offsets = words_at(content, start + _CHUNK.size, num).astype(np.int64)
    if num and offsets.max() > len(content) - 4:
        raise Damage(f"one of the {head} lies beyond the end")
    counts = _words(content, offsets)
    total = int(counts.sum())
    if total > len(features) or (num and (offsets + 4 + 4 * counts).max() > len(content)):
        raise Damage(f"the {head} list more features than there are")
    owner = np.repeat(np.arange(num), counts)
    within = np.arange(total) - (np.cumsum(counts) - counts)[owner]
    chosen = _words(content, offsets[owner] + 4 + 4 * within)
    if total and chosen.max() >= len(features):
        raise Damage(f"one of the {head} is to a feature that the file does not have")
    if (np.bincount(chosen, minlength=1) > 1).any():
        raise Damage(f"the {head} have a feature twice")
    return features[chosen], owner


def _words(content: NDArray[np.uint8], offsets: Ints) -> Ints:
    """The word at each of the offsets [n], which are within the content."""
    words: Ints = content[offsets[:, None] + np.arange(4)].view("<u4").ravel().astype(np.int64)
    return words


def _check_kind(features: NDArray[np.void], owner: Ints, kind: int, num_labels: int, what: str) -> None:
    """`Damage` unless the features are of their owner's kind, and lead from the owner to a label."""
    if (features["type"] != kind).any() or (features["source"] != owner).any():
        raise Damage(f"one of the {what} refers to a feature of something else")
    if len(features) and features["target"].max() >= num_labels:
        raise Damage("a feature leads to a label that the file does not have")


# writing ----------------------------------------------------------------------------------------------------------


def write_crfsuite_file(model: CrfsuiteModel, path: str | Path) -> None:
    """Writes a model for CRFsuite; the file is replaced whole or not at all. `DcrfError` if that fails."""
    write_whole(path, (crfsuite_bytes(model, os.fspath(path)),))


def crfsuite_bytes(model: CrfsuiteModel, name: str = "<bytes>") -> bytes:
    """The content of the model's file: that which CRFsuite itself writes, where it has the same features.

    `ModelFileError` if the format has no room for it: a label or attribute with a NUL, more than 4 GiB.
    """
    for text in (*model.labels, *model.attributes):
        if (b"\0" if isinstance(text, bytes) else "\0") in text:  # type: ignore[operator]
            message = f"the name {text!r} has a NUL, at which CRFsuite ends a name"
            raise _error("not-for-crfsuite", name, message, "rename it in the data, and train again")
    chunks = [_feature_bytes(model), cqdb_bytes(model.labels), cqdb_bytes(model.attributes)]
    starts = [HEADER_BYTES]
    num_states = np.bincount(model.state_attributes, minlength=len(model.attributes))
    num_transitions = np.bincount(model.transition_from, minlength=len(model.labels))
    for chunk in chunks:
        starts.append(starts[-1] + len(chunk))
    for magic, counts, first, spare in (
        (_LENGTHS["labels"], num_transitions, len(model.state_labels), _SPARE_LABELS),
        (_LENGTHS["attributes"], num_states, 0, 0),
    ):
        chunks[-1] += bytes(-starts[-1] % 4)
        starts[-1] += -starts[-1] % 4
        chunks.append(_reference_bytes(magic, counts, first, starts[-1], spare))
        starts.append(starts[-1] + len(chunks[-1]))
    *starts, end = starts
    if end > _LONGEST_FILE:
        message = f"the model takes {end:,} bytes, and CRFsuite's offsets have 32 bits"
        raise _error("not-for-crfsuite", name, message, "leave out features with a weight near 0")
    header = _HEADER.pack(MAGIC, end, _TYPE, _VERSION, 0, len(model.labels), len(model.attributes), *starts)
    return b"".join((header, *chunks))


def _feature_bytes(model: CrfsuiteModel) -> bytes:
    """The chunk of the features: state features by attribute and label, then transitions by their labels."""
    states = np.lexsort((model.state_labels, model.state_attributes))
    transitions = np.lexsort((model.transition_to, model.transition_from))
    features = np.zeros(len(states) + len(transitions), _FEATURE)
    features["type"][len(states) :] = _TRANSITION
    features["source"] = np.concatenate([model.state_attributes[states], model.transition_from[transitions]])
    features["target"] = np.concatenate([model.state_labels[states], model.transition_to[transitions]])
    features["weight"] = np.concatenate([model.state_weights[states], model.transition_weights[transitions]])
    return _CHUNK.pack(b"FEAT", _CHUNK.size + features.nbytes, len(features)) + features.tobytes()


def _reference_bytes(magic: bytes, counts: Ints, first: int, start: int, spare: int) -> bytes:
    """The chunk, at byte `start`, of references of owners with `counts` features each, numbered from `first` on."""
    head = _CHUNK.size + 4 * (len(counts) + spare)
    before = np.cumsum(counts) - counts  #           [n]  features of earlier owners
    places = np.arange(len(counts)) + before  #      [n]  words before an owner's, its number of features included
    words = np.zeros(len(counts) + int(counts.sum()), "<u4")
    is_count = np.zeros(len(words), np.bool_)
    is_count[places] = True
    words[is_count] = counts
    words[~is_count] = first + np.arange(int(counts.sum()))
    offsets = np.concatenate([start + head + 4 * places, np.zeros(spare, np.int64)])
    size = head + words.nbytes
    return _CHUNK.pack(magic, size, len(offsets)) + offsets.astype("<u4").tobytes() + words.tobytes()


# errors -----------------------------------------------------------------------------------------------------------

_AGAIN = "copy it again from where it came, or train it again"
_SOURCE = "such a model is what `Trainer.train` of python-crfsuite or `crfsuite learn -m FILE` writes"


def _error(slug: str, name: str, message: str, remedy: str) -> ModelFileError:
    return ModelFileError(Diagnostic(slug, message, location=name, help=remedy))


# what is inside -------------------------------------------------------------------------------------------------------


class ParsedDump:
    """A model's content, as `Tagger.info` returns it.

    header: what the file says of itself, `{name: text}`.
    labels: `{label: number}`, the numbers as texts.
    attributes: `{attribute: number}`, the numbers as texts.
    transitions: `{(left label, right label): weight}`.
    state_features: `{(attribute, label): weight}`.
    """

    def __init__(self) -> None:
        self.header: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self.attributes: dict[str, str] = {}
        self.transitions: dict[tuple[str, str], float] = {}
        self.state_features: dict[tuple[str, str], float] = {}


def parsed_dump(model: CrfsuiteModel, header: dict[str, str]) -> ParsedDump:
    """The content of a model; weights in full, where `crfsuite dump` rounds them."""
    found = ParsedDump()
    labels, attributes = [_text(label) for label in model.labels], [_text(name) for name in model.attributes]
    found.header = header
    found.labels = {label: str(number) for number, label in enumerate(labels)}
    found.attributes = {name: str(number) for number, name in enumerate(attributes)}
    found.transitions = {(labels[left], labels[right]): weight for left, right, weight in _transitions(model)}
    found.state_features = {(attributes[name], labels[label]): weight for name, label, weight in _states(model)}
    return found


def dump_lines(model: CrfsuiteModel, header: dict[str, str]) -> Iterator[str]:
    """The lines of `crfsuite dump`, each with its line end."""
    labels, attributes = [_text(label) for label in model.labels], [_text(name) for name in model.attributes]
    yield from _section("FILEHEADER", (f"  {name}: {value}" for name, value in header.items()))
    yield from _section("LABELS", (f"  {number:5}: {label}" for number, label in enumerate(labels)))
    yield from _section("ATTRIBUTES", (f"  {number:5}: {name}" for number, name in enumerate(attributes)))
    between = (f"  (1) {labels[i]} --> {labels[j]}: {weight:f}" for i, j, weight in _transitions(model))
    yield from _section("TRANSITIONS", between)
    states = (f"  (0) {attributes[name]} --> {labels[label]}: {weight:f}" for name, label, weight in _states(model))
    yield from _section("STATE_FEATURES", states)


def _section(name: str, lines: Iterator[str]) -> Iterator[str]:
    yield f"{name} = {{\n"
    yield from (f"{line}\n" for line in lines)
    yield "}\n\n"


def _text(name: Key) -> str:
    return name if isinstance(name, str) else name.decode("utf-8", "backslashreplace")


Weighted = Iterator[tuple[int, int, float]]


def _transitions(model: CrfsuiteModel) -> Weighted:
    parts = (model.transition_from, model.transition_to, model.transition_weights)
    return zip(*(part.tolist() for part in parts), strict=True)


def _states(model: CrfsuiteModel) -> Weighted:
    parts = (model.state_attributes, model.state_labels, model.state_weights)
    return zip(*(part.tolist() for part in parts), strict=True)
