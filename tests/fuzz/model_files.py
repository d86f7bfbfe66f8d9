"""Model files with wrong content and a correct checksum.

    mutated(generator, blob)        another file, changed in one to three ways
    mutated(generator, blob, other) the same, perhaps with parts of a second model

The file is taken apart (length, JSON layout, metadata, data) and put together again without any of the project's code
(but for `Parts.plain`), because that is what is tested. A case is tried by loading it, tagging a few words, and looking
inside. Not here: truncated or damaged files, which the checksum reveals (`tests/model/test_model_file.py`).
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from dcrfdsl.data import stream_corpus
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.model.narrow_arrays import widened
from dcrfdsl.model.trained_model import TrainedModel

from .cases import Fuzzer, Wrong
from .small_models import SMALL, train_small

Rng = np.random.Generator
_BLANK = "00000000"
_SIZES = {"F64": 8, "F32": 4, "I64": 8, "I32": 4, "U8": 1, "BOOL": 1, "F16": 2, "BF16": 2, "U16": 2, "I8": 1, "U64": 8}
_NUMPY = {"F64": "<f8", "I64": "<i8", "I32": "<i4", "U8": "u1", "F32": "<f4", "F16": "<f2", "U16": "<u2"}


# files --------------------------------------------------------------------------------------------------------------


@dataclass
class Parts:
    """A model file taken apart. `tensors`: the dtype, shape and bytes of each array, in the order of the file.

    `layout`: false entries of the header for some arrays.   `text`: an edit of the whole JSON text.
    """

    record: dict[str, Any]
    tensors: dict[str, tuple[str, Any, bytes]]
    layout: dict[str, Any]
    text: Callable[[bytes], bytes] = bytes

    @classmethod
    def of(cls, blob: bytes) -> Parts:
        length = int.from_bytes(blob[:8], "little")
        layout, data = json.loads(blob[8 : 8 + length]), blob[8 + length :]
        record = json.loads(layout.pop("__metadata__")["dcrfdsl"])
        tensors = {
            name: (entry["dtype"], entry["shape"], data[entry["data_offsets"][0] : entry["data_offsets"][1]])
            for name, entry in layout.items()
        }
        return cls(record, tensors, {})

    @classmethod
    def plain(cls, blob: bytes) -> Parts:
        """As `of`, with every array as it is and none in fewer bytes."""
        parts = cls.of(blob)
        arrays = {
            name: np.frombuffer(data, _NUMPY[dtype]).reshape(shape)
            for name, (dtype, shape, data) in parts.tensors.items()
        }
        wide = widened(arrays, parts.record.pop("narrow"))
        names = {np.dtype(dtype): name for name, dtype in _NUMPY.items()}
        parts.tensors = {name: (names[array.dtype], list(array.shape), array.tobytes()) for name, array in wide.items()}
        return parts

    def blob(self) -> bytes:
        """The file, with a checksum that fits."""
        rows, at = [], 0
        for name, (dtype, shape, data) in self.tensors.items():
            told = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
            rows.append(f"{json.dumps(name)}:{json.dumps({**told, **self.layout.get(name, {})})}")
            at += len(data)
        record = {**self.record, "checksum": f"crc32:{_BLANK}"}
        inner = json.dumps(json.dumps(record, separators=(",", ":")))
        text = ",".join([f'{{"__metadata__":{{"dcrfdsl":{inner}}}', *rows]) + "}"
        header = self.text(text.encode())
        header += b" " * (-len(header) % 8)
        content = len(header).to_bytes(8, "little") + header + b"".join(data for _, _, data in self.tensors.values())
        return summed(content)


def summed(content: bytes) -> bytes:
    """The file with a checksum that fits its content."""
    at = content.find(b"crc32:") + len(b"crc32:")
    blank = content[:at] + _BLANK.encode() + content[at + 8 :]
    return content[:at] + f"{zlib.crc32(blank):08x}".encode() + content[at + 8 :]


# mutations ----------------------------------------------------------------------------------------------------------

ODD: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 2, 3, 7, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 2**70, -(2**63), 10**12, 10**400, 0.5,
    -0.0, 1e308, math.nan, math.inf, -math.inf, "", "a", "y", "word", "\x00", "\ud800", "\x1b[31mred", "\u202e", "1",
    "nan", "é" * 50, [], {}, [None], [0], [-1], ["a"], ["a", "a"], [[]], [[0, 0]], {"a": 1}, {"kind": "here"},
)  # fmt: skip


def _one(rng: Rng, items: Any) -> Any:
    return items[int(rng.integers(len(items)))]


def _places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every field and item of a JSON value."""
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in children:
        yield (*path, key)
        yield from _places(value, (*path, key))


def _holder(node: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        node = node[key]
    return node


def _field(rng: Rng, parts: Parts) -> tuple[Any, Any]:
    """The container of a field of the header, and its key. Each part of the header is equally likely."""
    header = parts.record.get("header")
    top = _one(rng, sorted(header)) if isinstance(header, dict) and header and rng.random() < 0.9 else None
    paths = list(_places(parts.record)) if top is None else [("header", top)]
    if top is not None:
        paths += [("header", top, *path) for path in _places(header[top])]
    path = _one(rng, paths)
    return _holder(parts.record, path), path[-1]


def _odd_field(rng: Rng, parts: Parts, other: Parts) -> None:
    holder, key = _field(rng, parts)
    holder[key] = json.loads(json.dumps(_one(rng, ODD)))


def _near_field(rng: Rng, parts: Parts, other: Parts) -> None:
    """Changes a field of the header to a number or text that is nearly right."""
    for _ in range(20):
        holder, key = _field(rng, parts)
        if isinstance(holder[key], int | float):
            holder[key] = _one(
                rng, (holder[key] + 1, holder[key] - 1, -holder[key], holder[key] * 2, holder[key] * 1000)
            )
            return
        if isinstance(holder[key], str):
            holder[key] = _one(rng, (holder[key] + "x", holder[key][:-1], holder[key].upper(), holder[key] * 2))
            return


def _lost_field(rng: Rng, parts: Parts, other: Parts) -> None:
    holder, key = _field(rng, parts)
    del holder[key]


def _repeated_item(rng: Rng, parts: Parts, other: Parts) -> None:
    holder, key = _field(rng, parts)
    if isinstance(holder, list):
        holder.insert(key, holder[key])
    else:
        holder[_one(rng, ("", "extra", f"{key}2"))] = holder[key]


def _turned_items(rng: Rng, parts: Parts, other: Parts) -> None:
    for _ in range(20):
        holder, key = _field(rng, parts)
        if isinstance(holder[key], list) and len(holder[key]) > 1:
            holder[key].reverse()
            return


def _others_field(rng: Rng, parts: Parts, other: Parts) -> None:
    """Takes a part of the header from another model."""
    header, theirs = parts.record.get("header"), other.record["header"]
    if isinstance(header, dict):
        key = _one(rng, sorted(theirs))
        header[key] = json.loads(json.dumps(theirs[key]))


def _tensor(rng: Rng, parts: Parts) -> str | None:
    return _one(rng, sorted(parts.tensors)) if parts.tensors else None


def _flipped_bytes(rng: Rng, parts: Parts, other: Parts) -> None:
    name = _tensor(rng, parts)
    if name is None or not parts.tensors[name][2]:
        return
    dtype, shape, data = parts.tensors[name]
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        changed[int(rng.integers(len(changed)))] = int(_one(rng, (0, 1, 127, 128, 255, int(rng.integers(256)))))
    parts.tensors[name] = dtype, shape, bytes(changed)


def _odd_number(rng: Rng, parts: Parts, other: Parts) -> None:
    """Sets an element of an array out of bounds, or to NaN."""
    name = _tensor(rng, parts)
    if name is None or parts.tensors[name][0] not in _NUMPY or not parts.tensors[name][2]:
        return
    dtype, shape, data = parts.tensors[name]
    array = np.frombuffer(data, _NUMPY[dtype]).copy()
    at = int(_one(rng, (0, len(array) - 1, int(rng.integers(len(array))))))
    if array.dtype.kind == "f":
        array[at] = _one(rng, (math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 0.0))
    else:
        limits = np.iinfo(array.dtype)
        near = int(array[at])
        array[at] = np.clip(_one(rng, (limits.min, limits.max, -1, 0, near + 1, near - 1, len(array), 1 << 20)),
                            limits.min, limits.max)  # fmt: skip
    parts.tensors[name] = dtype, shape, array.tobytes()


def _other_length(rng: Rng, parts: Parts, other: Parts) -> None:
    """Makes an array shorter or longer, with a consistent header."""
    name = _tensor(rng, parts)
    if name is None or not isinstance(parts.tensors[name][1], list) or len(parts.tensors[name][1]) != 1:
        return
    dtype, (length,), data = parts.tensors[name]
    size = _SIZES[dtype]
    new = int(_one(rng, (0, 1, max(0, length - 1), length + 1, 2 * length, int(rng.integers(0, length + 2)))))
    parts.tensors[name] = dtype, [new], (data * 3 + bytes(size * 3))[: new * size]
    if len(parts.tensors[name][2]) != new * size:
        parts.tensors[name] = dtype, [new], bytes(new * size)


def _untrue_layout(rng: Rng, parts: Parts, other: Parts) -> None:
    """Gives an array a dtype, shape or offsets that do not fit its data."""
    name = _tensor(rng, parts)
    if name is None:
        return
    entry = parts.layout.setdefault(name, {})
    key = _one(rng, ("dtype", "shape", "data_offsets"))
    size = len(parts.tensors[name][2])
    entry[key] = _one(rng, {
        "dtype": (*_SIZES, "F8_E4M3", "i64", "", None, 3, "C64"),
        "shape": ([-1], [2**62, 4], [2**63], [], [0], [0, 10**12], [1] * 70, [size], [10**12], [2**32, 2**32], None,
                  "1", [1.5]),
        "data_offsets": ([0, size], [0, 10**15], [-1, size], [size, 0], [1, size + 1], [], None, [0.5, size],
                         [10**30, 0]),
    }[key])  # fmt: skip


def _cast(rng: Rng, parts: Parts, other: Parts) -> None:
    """Reinterprets the bytes of an array as another dtype, with a shape that fits."""
    name = _tensor(rng, parts)
    if name is None:
        return
    _, _, data = parts.tensors[name]
    dtype = _one(rng, sorted(_SIZES))
    if len(data) % _SIZES[dtype] == 0:
        count = len(data) // _SIZES[dtype]
        shape = _one(rng, ([count], [count, 1], [1, count], [1, count, 1], [] if count == 1 else [count]))
        parts.tensors[name] = dtype, shape, data


def _lost_tensor(rng: Rng, parts: Parts, other: Parts) -> None:
    if (name := _tensor(rng, parts)) is not None:
        del parts.tensors[name]


def _renamed_tensor(rng: Rng, parts: Parts, other: Parts) -> None:
    if (name := _tensor(rng, parts)) is not None:
        new = _one(rng, (name + "x", "voters.off", "features.feature_rows.0", "features.feature_rows.9",
                         "known.word.off", "features.support.0.value", "\x1b[31m", "parameters.9.bias"))  # fmt: skip
        parts.tensors[new] = parts.tensors[name]
        if rng.random() < 0.5:
            parts.tensors.pop(name)


def _swapped_tensors(rng: Rng, parts: Parts, other: Parts) -> None:
    first, second = _tensor(rng, parts), _tensor(rng, parts)
    if first is not None and second is not None:
        parts.tensors[first], parts.tensors[second] = parts.tensors[second], parts.tensors[first]


def _others_tensor(rng: Rng, parts: Parts, other: Parts) -> None:
    name = _one(rng, sorted(other.tensors))
    parts.tensors[name] = other.tensors[name]


def _others_family(rng: Rng, parts: Parts, other: Parts) -> None:
    """Takes all arrays of one part from another model."""
    prefix = _one(rng, sorted({name.partition(".")[0] for name in other.tensors}))
    for name in [name for name in parts.tensors if name.startswith(prefix)]:
        del parts.tensors[name]
    parts.tensors |= {name: tensor for name, tensor in other.tensors.items() if name.startswith(prefix)}


def _edited_text(rng: Rng, parts: Parts, other: Parts) -> None:
    """Changes, removes or inserts a byte of the JSON, not at its beginning."""
    where, what, how = float(rng.random()), int(rng.integers(256)), int(rng.integers(3))

    def edited(text: bytes) -> bytes:
        first = text.find(b"crc32:") + 20
        at = first + int(where * (len(text) - first))
        return text[:at] + (b"", bytes([what]), bytes([what]))[how] + text[at + (how < 2) :]

    parts.text = edited


def _deep_text(rng: Rng, parts: Parts, other: Parts) -> None:
    depth = int(_one(rng, (50, 300, 2000, 100_000)))
    holder, key = _field(rng, parts)
    marker = f"deep{depth}"
    holder[key] = marker
    quoted = f'\\"{marker}\\"'.encode()
    parts.text = lambda text: text.replace(quoted, b"[" * depth + b"]" * depth)


def _twice_in_text(rng: Rng, parts: Parts, other: Parts) -> None:
    """Names a tensor twice in the layout."""
    if (name := _tensor(rng, parts)) is not None:
        again = f',{json.dumps(name)}:{{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}}}'.encode()
        parts.text = lambda text: text[:-1] + again


MUTATIONS: tuple[Callable[[Rng, Parts, Parts], None], ...] = (
    _odd_field, _odd_field, _odd_field, _near_field, _near_field, _lost_field, _repeated_item, _turned_items,
    _others_field, _flipped_bytes, _flipped_bytes, _odd_number, _odd_number, _odd_number, _other_length, _other_length,
    _untrue_layout, _cast, _lost_tensor, _renamed_tensor, _swapped_tensors, _others_tensor, _others_family,
    _edited_text, _deep_text, _twice_in_text,
)  # fmt: skip


def mutated(generator: Rng, blob: bytes, other: bytes | None = None) -> bytes:
    """The model file `blob`, changed in one to three ways, with a checksum that fits. `other`: a source of parts."""
    parts, second = Parts.of(blob), Parts.of(other if other is not None else blob)
    for _ in range(int(_one(generator, (1, 1, 2, 3)))):
        _one(generator, MUTATIONS)(generator, parts, second)
    return parts.blob()


# trying -------------------------------------------------------------------------------------------------------------


def looked_at(path: Path, text: str, rng: Rng) -> str:
    """Loads a model, tags a text and looks inside; returns a word for the outcome. Lets every exception pass."""
    trained = TrainedModel.load(path)
    if trained.spec.data is None:
        return "without data"
    for chunk in stream_corpus(BytesIO(text.encode()), trained.spec.data, optional=trained.labels):
        prediction = trained.predict(chunk.corpus, threads=1)
        for label in trained.labels:
            prediction.texts(label)
        match int(rng.integers(6)):
            case 0:
                trained.marginals(chunk.corpus, threads=1)
            case 1:
                trained.nbest(chunk.corpus, 2, threads=1)
            case 2:
                trained.explanations.strongest_weights(20)
            case 3:
                list(trained.explanations.boosting_path())
                list(trained.explanations.iter_weights())
            case 4 if trained.record.path:
                trained.at_round(1).predict(chunk.corpus, threads=1)
            case _:
                trained.save(path.with_suffix(".again"))
    return "tagged"


class ModelFiles(Fuzzer[tuple[bytes, str]]):
    """Small models of every kind, mutated. A case is a model file and a text to tag."""

    def __init__(self, room: Path) -> None:
        super().__init__(room)
        self.models: list[tuple[bytes, str]] = []
        self.path = room / "case.model"
        for name in SMALL:
            model, text = train_small(name, room)
            model.save(self.path)
            self.models.append((self.path.read_bytes(), text))
            for seed in range(12):  # compiles what a case may need
                looked_at(self.path, text, np.random.default_rng(seed))

    def make(self, rng: Rng) -> tuple[bytes, str]:
        blob, text = _one(rng, self.models)
        other, _ = _one(rng, self.models)
        return mutated(rng, blob, other), text

    def attempt(self, case: tuple[bytes, str], rng: Rng) -> str:
        blob, text = case
        self.path.write_bytes(blob)
        try:
            return looked_at(self.path, text, rng)
        except DcrfError as error:
            for diagnostic in error.diagnostics:
                if any(not char.isprintable() for char in str(error).replace("\n", "")):
                    raise Wrong("control characters", ascii(str(error))) from None
                if "\n" in diagnostic.message:
                    raise Wrong("message of several lines", diagnostic.message) from None
            return "refused"

    def show(self, case: tuple[bytes, str]) -> str:
        blob, _ = case
        length = int.from_bytes(blob[:8], "little")
        return ascii(blob[8 : 8 + length].decode(errors="replace"))
