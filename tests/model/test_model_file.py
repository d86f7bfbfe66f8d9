"""The model file: what is written comes back, and whatever is not a whole model of a known format is refused."""

from __future__ import annotations

import errno
import json
import os
import pickle
import resource
import signal
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, strategies as st

from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.foundation.files.whole_files import ensure_writable
from dcrfdsl.model.file_format import DTYPES, in_pieces, read_model, write_model

ARRAYS = {
    "weights": np.array([0.25, -1.5, 1e-300, np.inf]),
    "alphabet/off": np.array([0, 3, 7], dtype=np.int64),
    "alphabet/bytes": np.frombuffer("şey ⟨-1⟩".encode(), dtype=np.uint8),
    "codes": np.arange(6, dtype=np.int32).reshape(2, 3)[:, ::2],  # not contiguous
    "empty": np.zeros((0, 3)),
    "scalar": np.array(3.5),
}
HEADER = {
    "template": 'dcrf 1\nlabel pos in {"\\"", "é"}\n',
    "record": {"objective": 3395.53, "stages": ["a", None], "n": 3},
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "chunk.model"
    write_model(path, ARRAYS, HEADER)
    return path


def slug_of(action: Callable[[], object]) -> str:
    with pytest.raises(DcrfError) as caught:
        action()
    (diagnostic,) = caught.value.diagnostics
    assert "\n" not in diagnostic.message
    return diagnostic.slug


# round trip -------------------------------------------------------------------------------------------------------


def test_header_and_arrays_come_back(model: Path) -> None:
    header, arrays = read_model(model)
    assert header == HEADER
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)


def test_the_same_model_is_the_same_bytes(model: Path, tmp_path: Path) -> None:
    write_model(tmp_path / "again.model", dict(reversed(ARRAYS.items())), HEADER)
    assert (tmp_path / "again.model").read_bytes() == model.read_bytes()


def test_is_plain_safetensors(model: Path) -> None:
    np.testing.assert_array_equal(safetensors.numpy.load_file(model)["weights"], ARRAYS["weights"])


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)
SHAPES = st.lists(st.integers(0, 3), max_size=3).map(tuple)


@given(layout=st.dictionaries(NAMES, st.tuples(st.sampled_from(sorted(DTYPES.values())), SHAPES), max_size=8))
def test_the_pieces_are_the_file_that_safetensors_writes(layout: dict[str, tuple[str, tuple[int, ...]]]) -> None:
    """To the last byte: types, shapes, the order of arrays, names with signs that JSON escapes."""
    arrays = {name: np.full(shape, number, dtype) for number, (name, (dtype, shape)) in enumerate(layout.items())}
    metadata = {"dcrfdsl": 'a "quote", \\ and \n, é, \x7f'}
    assert b"".join(in_pieces(arrays, metadata)) == safetensors.numpy.save(arrays, metadata)


def test_writing_takes_no_copy_of_large_arrays(tmp_path: Path) -> None:
    """A checkpoint is written in the middle of a training, which may have no room for it a second time."""
    rows = np.zeros((16, 100_000), np.uint16)
    tracemalloc.start()
    write_model(tmp_path / "a.checkpoint", {"moves": rows, "changes": rows}, {})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.1 * rows.nbytes
    np.testing.assert_array_equal(read_model(tmp_path / "a.checkpoint")[1]["moves"], rows)


def test_checksum_is_the_crc_of_the_file_with_blank_digits(model: Path) -> None:
    """Stated apart from the code: what another program would do to verify a model."""
    content = model.read_bytes()
    length = int.from_bytes(content[:8], "little")
    stored = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["dcrfdsl"])["checksum"]
    kind, digits = stored.split(":")
    assert kind == "crc32"
    assert content.count(digits.encode()) == 1
    assert int(digits, 16) == zlib.crc32(content.replace(digits.encode(), b"00000000"))


# files that are no model ----------------------------------------------------------------------------------------------


def newer(path: Path) -> None:
    """The same file, format 3, with a checksum that fits."""
    _renumber(path, 4)


def _renumber(path: Path, version: int) -> None:
    content = path.read_bytes().replace(b'\\"version\\":3', b'\\"version\\":%d' % version)
    at = content.index(b"crc32:") + len(b"crc32:")
    blank = content[:at] + b"00000000" + content[at + 8 :]
    path.write_bytes(content[:at] + f"{zlib.crc32(blank):08x}".encode() + content[at + 8 :])


def flip(path: Path, position: int, mask: int = 1) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= mask
    path.write_bytes(content)


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda path: path.unlink(), "no-file"),
    "directory": (lambda path: (path.unlink(), path.mkdir()), "not-a-model"),
    "pipe": (lambda path: (path.unlink(), os.mkfifo(path)), "not-a-model"),
    "empty": (lambda path: path.write_bytes(b""), "truncated-model"),
    "text": (lambda path: path.write_text("Confidence NN B-NP\n" * 20), "not-a-model"),
    "short text": (lambda path: path.write_text("hi\n"), "not-a-model"),
    "pickle": (lambda path: path.write_bytes(pickle.dumps({"weights": list(range(100))})), "not-a-model"),
    "zeros": (lambda path: path.write_bytes(bytes(4096)), "not-a-model"),
    "other safetensors": (
        lambda path: safetensors.numpy.save_file({"weights": np.ones(9)}, path, {"format": "pt"}),
        "not-a-model",
    ),
    "cut in its length": (lambda path: os.truncate(path, 30), "truncated-model"),
    "cut in its header": (lambda path: os.truncate(path, 200), "truncated-model"),
    "cut in its data": (lambda path: os.truncate(path, path.stat().st_size - 1), "truncated-model"),
    "bit flipped in its first bytes": (lambda path: flip(path, 20), "corrupt-model"),
    "bit flipped in its checksum": (lambda path: flip(path, path.read_bytes().index(b"crc32:") + 7), "corrupt-model"),
    "bit flipped in its template": (lambda path: flip(path, path.read_bytes().index(b"label")), "corrupt-model"),
    "bit flipped in its weights": (lambda path: flip(path, path.stat().st_size - 1), "corrupt-model"),
    "a byte more": (lambda path: path.write_bytes(path.read_bytes() + b"\0"), "corrupt-model"),
    "of a newer format": (newer, "newer-model"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_incomplete_models_are_refused_by_name(case: str, model: Path) -> None:
    breaks, slug = BROKEN[case]
    breaks(model)
    assert slug_of(lambda: read_model(model)) == slug


@pytest.mark.parametrize("version", [1, 2])
def test_a_file_of_an_earlier_format_is_read(version: int, model: Path) -> None:
    _renumber(model, version)
    assert read_model(model)[0] == HEADER


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("content") / "a.model"
    write_model(path, ARRAYS, HEADER)
    return path.read_bytes()


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scratch") / "b.model"


def test_every_truncation_is_refused(content: bytes, scratch: Path) -> None:
    for length in range(len(content)):
        scratch.write_bytes(content[:length])
        assert slug_of(lambda: read_model(scratch)) in {"truncated-model", "not-a-model"}


@given(st.data())
def test_every_flipped_bit_is_refused(content: bytes, scratch: Path, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(content) - 1))
    mask = data.draw(st.integers(1, 255))
    scratch.write_bytes(content)
    flip(scratch, position, mask)
    assert slug_of(lambda: read_model(scratch)) in {"corrupt-model", "truncated-model", "not-a-model"}


@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_refused(scratch: Path, noise: bytes) -> None:
    scratch.write_bytes(noise)
    assert slug_of(lambda: read_model(scratch)) in {"truncated-model", "not-a-model"}


# a write that fails ---------------------------------------------------------------------------------------------------


def failing(number: int) -> Callable[..., int]:
    def call(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    return call


FAILURES = [
    ("write", errno.ENOSPC, "disk-full"),
    ("write", errno.EDQUOT, "disk-full"),
    ("fsync", errno.ENOSPC, "disk-full"),
    ("replace", errno.EACCES, "read-only-target"),
    ("open", errno.EROFS, "read-only-target"),
    ("write", errno.EIO, "file-error"),
]


@pytest.mark.parametrize(("call", "number", "slug"), FAILURES)
def test_a_failed_write_leaves_the_old_model(
    call: str, number: int, slug: str, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = model.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(os, call, failing(number))
        assert slug_of(lambda: write_model(model, {"weights": np.ones(3)}, {})) == slug
    assert model.read_bytes() == before
    assert list(model.parent.iterdir()) == [model]


def test_an_interrupted_write_leaves_the_old_model(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    before = model.read_bytes()
    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_model(model, {}, {})
    assert model.read_bytes() == before
    assert list(model.parent.iterdir()) == [model]


LIMITED_WRITE = """
import sys
import numpy as np
from dcrfdsl.foundation.errors import DcrfError
from dcrfdsl.model.file_format import write_model
try:
    write_model(sys.argv[1], {"weights": np.ones(100_000)}, {})
except DcrfError as error:
    print(error.diagnostics[0].slug)
"""


def test_a_disk_that_fills_up_midway(model: Path) -> None:
    """No patching: the kernel refuses the file after 100,000 bytes."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    before = model.read_bytes()
    run = subprocess.run(
        [sys.executable, "-B", "-c", LIMITED_WRITE, str(model)], preexec_fn=limit, capture_output=True, text=True
    )
    assert (run.stdout.strip(), run.stderr) == ("disk-full", "")
    assert model.read_bytes() == before
    assert list(model.parent.iterdir()) == [model]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device /dev/full")
def test_a_device_is_written_to_and_not_replaced() -> None:
    assert slug_of(lambda: write_model("/dev/full", {"weights": np.ones(3)}, {})) == "disk-full"
    assert Path("/dev/full").is_char_device()


def read_only_file(path: Path) -> Path:
    path.chmod(0o444)
    return path


def read_only_directory(path: Path) -> Path:
    path.parent.chmod(0o555)
    return path


TARGETS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "no such directory": (lambda model: model.parent / "no" / "a.model", "no-such-directory"),
    "a directory": (lambda model: model.parent, "target-is-directory"),
    "below a file": (lambda model: model / "a.model", "no-such-directory"),
    "a read-only file": (read_only_file, "read-only-target"),
    "in a read-only directory": (read_only_directory, "read-only-target"),
}


@pytest.mark.parametrize("case", TARGETS)
def test_a_target_that_cannot_be_written(case: str, model: Path) -> None:
    target, slug = TARGETS[case]
    place = target(model)
    before = model.read_bytes()
    assert slug_of(lambda: ensure_writable(place)) == slug
    assert slug_of(lambda: write_model(place, {}, {})) == slug
    model.parent.chmod(0o755)
    assert model.read_bytes() == before
    assert list(model.parent.iterdir()) == [model]


def test_a_link_stays_a_link(model: Path) -> None:
    link = model.parent / "latest.model"
    link.symlink_to(model.name)
    write_model(link, {"weights": np.ones(3)}, {})
    assert link.is_symlink()
    np.testing.assert_array_equal(read_model(model)[1]["weights"], np.ones(3))


def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    plain, model = tmp_path / "plain", tmp_path / "a.model"
    plain.touch()
    write_model(model, {}, {})
    assert model.stat().st_mode == plain.stat().st_mode
