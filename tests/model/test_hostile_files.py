"""Model files and data that somebody made to break things: each is right, or one message; nothing crashes the process.

The generators are those of `fuzz`; a few hundred of their cases run here in a process of their own, so that a signal is
seen. What they found has names below.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from fuzz.data_files import DataFiles
from fuzz.model_files import Parts
from fuzz.small_models import train_small

from dcrfdsl.data import read_corpus, stream_corpus, tagged
from dcrfdsl.data.column_blocks import blocks
from dcrfdsl.data.formats.format_interface import cut_at_blank_line
from dcrfdsl.features.feature_rows import Conjunctions
from dcrfdsl.features.values.lexicons import read_lexicon
from dcrfdsl.foundation.errors.diagnostics import DcrfError, Diagnostic, Label, Source, Span, data_error, render
from dcrfdsl.foundation.errors.printing import json_text, printable
from dcrfdsl.foundation.files.whole_files import read_template
from dcrfdsl.graph.drawing import FORMATS, GraphDrawing, VariableMark
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_text

# model files ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def blobs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("models")
    found = {}
    for name in ("voters", "boosted", "supports", "everything observed"):
        model, _ = train_small(name, folder)
        model.save(folder / "a.model")
        found[name] = (folder / "a.model").read_bytes()
    return found


def changed(name: str, dtype: str, change: Callable[[np.ndarray], object]) -> Callable[[Parts], None]:
    """An array whose numbers are changed in place, or that `change` returns anew."""

    def apply(parts: Parts) -> None:
        told, _, data = parts.tensors[name]
        array = np.frombuffer(data, dtype).copy()
        new = change(array)
        array = new if isinstance(new, np.ndarray) else array
        parts.tensors[name] = told, list(array.shape), array.tobytes()

    return apply


def put(at: int, number: float) -> Callable[[np.ndarray], None]:
    return lambda array: array.__setitem__(at, number)


def told(name: str, **layout: Any) -> Callable[[Parts], None]:
    """What the layout says of an array, against the truth."""
    return lambda parts: parts.layout.update({name: layout})


def header(*path: Any, to: Any) -> Callable[[Parts], None]:
    def apply(parts: Parts) -> None:
        node = parts.record["header"]
        for key in path[:-1]:
            node = node[key]
        node[path[-1]] = to

    return apply


def deep(parts: Parts) -> None:
    header("record", to="deep")(parts)
    parts.text = lambda text: text.replace(b'\\"deep\\"', b"[" * 100_000 + b"]" * 100_000)


WRONG: dict[str, tuple[str, Callable[[Parts], object], str]] = {
    "offsets that fall": ("voters", changed("parameters.0.run_off", "<i8", put(1, 1 << 40)), "run_off"),
    "offsets below 0": ("voters", changed("parameters.0.run_off", "<i8", put(1, -1)), "run_off"),
    "an assignment that no clique has": ("voters", changed("parameters.1.entry", "<i4", put(0, 1 << 20)), "entry"),
    "assignments out of order": ("voters", changed("parameters.1.bias", "<i4", lambda a: a[::-1].copy()), "order"),
    "a feature that is none": ("voters", changed("features.table_ids", "<i4", put(0, 10**6)), "table_ids"),
    "a feature twice": ("voters", changed("features.table_ids", "<i4", put(0, 1)), "features"),
    "fewer weights": ("voters", changed("weights", "<f8", lambda a: a[:-1]), "weights"),
    "a weight that is no number": ("voters", changed("weights", "<f8", put(0, np.nan)), "finite"),
    "an infinite weight": ("voters", changed("weights", "<f8", put(0, np.inf)), "finite"),
    "texts that are not UTF-8": ("voters", changed("features.vocabulary_bytes", "u1", put(0, 0xFF)), "UTF-8"),
    "texts with offsets beyond": ("voters", changed("features.vocabulary_off", "<i8", put(-1, 10**9)), "offsets"),
    "a character cut in two": (
        "everything observed",
        changed("features.vocabulary_off", "<i8", lambda a: np.arange(len(a))),
        "vocabulary_off",
    ),
    "a voter of another weight": ("voters", changed("voters.weight", "<i4", put(0, 10**6)), "voters.weight"),
    "votes below 1": ("voters", changed("voters.votes", "<i8", put(0, 0)), "votes"),
    "a support of another feature": ("supports", changed("features.support.0.feature", "<i4", put(0, -1)), "feature"),
    "a support that is no number": ("supports", changed("features.support.0.row_off", "<i8", put(1, -5)), "row_off"),
    "a kernel that is none": ("supports", header("features", "likenesses", 0, "kernel", to="\x1b"), "kernel"),
    "a round of another weight": ("boosted", header("record", "path", 0, to=[10**9, 0.1, 0.1, 0.1]), "boosting"),
    "a negative shape": ("voters", told("weights", shape=[-1]), "shape"),
    "a shape beyond all memory": ("voters", told("weights", shape=[10**12]), "shape"),
    "a shape that overflows": ("voters", told("weights", shape=[2**32, 2**32]), "shape"),
    "a dtype that NumPy lacks": ("voters", told("weights", dtype="BF16"), "header"),
    "offsets of the file beyond": ("voters", told("weights", data_offsets=[0, 10**15]), "weights"),
    "an array less": ("voters", lambda parts: parts.tensors.pop("features.table_keys"), "table_keys"),
    "an array more": ("voters", lambda parts: parts.tensors.update({"x": ("U8", [1], b"x")}), "`x`"),
    "states as a number": ("voters", header("states", to=3), "states"),
    "a state less": ("voters", lambda parts: parts.record["header"]["states"]["y"].pop(), "bias"),
    "a state twice": ("voters", header("states", "y", to=["P", "Q", "P"]), "twice"),
    "a length as a text": ("voters", header("features", "sets", 0, "num_features", to="9"), "num_features"),
    "a length of thousands of digits": ("voters", header("features", "vocabularies", "word", to=10**400), "word"),
    "a column that is none": ("everything observed", header("known", to=["no"]), "`no`"),
    "a record of another stage": ("voters", header("record", "stage", to="other"), "stage"),
    "a record of another type": ("voters", header("record", "curve", to=[[1]]), "curve"),
    "a clique over what is no variable": (
        "voters",
        header("spec", "cliques", 0, "sites", 0, "variable", to=""),
        "variable",
    ),
    "a clique over nothing": ("voters", header("spec", "cliques", 0, "sites", to=[]), "sites"),
    "a header nested deeply": ("voters", deep, "header"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_file_that_is_wrong_inside_is_one_message(case: str, blobs: dict[str, bytes], tmp_path: Path) -> None:
    name, change, words = WRONG[case]
    parts = Parts.plain(blobs[name])
    change(parts)
    path = tmp_path / "a.model"
    path.write_bytes(parts.blob())
    with pytest.raises(DcrfError) as caught:
        TrainedModel.load(path)
    (diagnostic,) = caught.value.diagnostics
    by_checker = case == "a clique over what is no variable"
    assert diagnostic.slug in (("unknown-name",) if by_checker else ("corrupt-model", "truncated-model"))
    assert words in diagnostic.message and diagnostic.location == str(path)
    assert len(str(caught.value).split("\n")) == 3


def test_taken_apart_and_put_together_it_is_the_same_model(blobs: dict[str, bytes], tmp_path: Path) -> None:
    for blob in blobs.values():
        path = tmp_path / "a.model"
        path.write_bytes(Parts.plain(blob).blob())
        assert TrainedModel.load(path).num_weights == len(Parts.plain(blob).tensors["weights"][2]) // 8


def test_members_of_conjunctions_that_double_are_looked_at_once() -> None:
    """2^60 ways lead to the atoms, and 60 conjunctions."""
    doubled = Conjunctions(2, np.array([[0, 1], *([n + 1, n + 1] for n in range(1, 60))], np.int32))
    assert doubled.atoms(61) == {0, 1}


CHILD = """
import faulthandler, sys
from pathlib import Path
import numpy as np
from fuzz.model_files import ModelFiles, Parts

def template_of(blob):
    try:
        return Parts.of(blob).record["header"]["spec"]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None  # not even a header: to be tried

faulthandler.enable()
fuzzer = ModelFiles(Path(sys.argv[1]))
templates = [None, *(template_of(blob) for blob, _ in fuzzer.models)]
for number in range(int(sys.argv[2])):
    made, tried = np.random.SeedSequence([3, number]).spawn(2)
    case = fuzzer.make(np.random.default_rng(made))
    if template_of(case[0]) in templates:  # one that was changed is for the checker of templates to refuse
        fuzzer.attempt(case, np.random.default_rng(tried))
print("done")
"""


@pytest.mark.long
def test_no_mutated_model_crashes_the_process(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path), "300"],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
    )
    assert (run.returncode, run.stdout) == (0, "done\n"), run.stderr[-3000:]


# data -----------------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_no_mutated_data_is_more_than_a_message(tmp_path: Path) -> None:
    fuzzer = DataFiles(tmp_path)
    for number in range(600):
        made, tried = np.random.SeedSequence([3, number]).spawn(2)
        fuzzer.attempt(fuzzer.make(np.random.default_rng(made)), np.random.default_rng(tried))


CONLL = "data conll(word, size:float, y)\nlabel y\nclique y: word\n"
JSONL = "data jsonl(word, size:float, bits:vector(1), y)\nlabel y\nclique y: word\n"
ROW = '{{"word": ["a"], "size": [{}], "bits": [[{}]], "y": ["P"], "more": {}}}\n'
HOSTILE: dict[str, tuple[str, bytes, str, str]] = {
    "an integer of 400 digits": (JSONL, ROW.format("1" * 400, 1, 1).encode(), "bad-value", "finite"),
    "an integer of 400 digits in a vector": (JSONL, ROW.format(1, "1" * 400, 1).encode(), "bad-value", "larger"),
    "an integer of 5000 digits": (JSONL, ROW.format("1" * 5000, 1, 1).encode(), "bad-json", "thousands"),
    "a float beyond": (JSONL, ROW.format("1e999", 1, 1).encode(), "bad-value", "finite"),
    "a key twice": (JSONL, ROW.format(1, 1, '{"a": 1, "a": 2}').encode(), "bad-json", "twice"),
    "a list in a list": (JSONL, b"[" * 100_000, "bad-json", "deeply"),
    "an underline in a number": (CONLL, b"a 1_000 P\n", "bad-value", "digits"),
    "digits of another script": (CONLL, "a ٣ P\n".encode(), "bad-value", "digits"),
    "a hexadecimal number": (CONLL, b"a 0x10 P\n", "bad-value", "expected a number"),
    "not a number": (CONLL, b"a nan P\n", "bad-value", "finite"),
    "UTF-16 without a mark": (CONLL, "a 1 P\n".encode("utf-16-le"), "binary-file", "binary"),
    "a file that was packed": (CONLL, b"\x1f\x8b\x08\x00\x00", "binary-file", "binary"),
    "columns by the thousand": (CONLL, b"a 1 P" + b" x" * 100_000, "column-count", "100003"),
    "lines that end with a carriage return": (CONLL, b"a 1 P\rb 2 Q\r", "column-count", "6 columns"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_data_is_one_message_with_its_line(case: str, tmp_path: Path) -> None:
    template, content, slug, words = HOSTILE[case]
    path = tmp_path / "data"
    path.write_bytes(content)
    data = load_text(template).require().data
    assert data is not None
    with pytest.raises(DcrfError) as caught:
        read_corpus(path, data)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.slug == slug and words in diagnostic.message
    assert diagnostic.location is not None and diagnostic.location.startswith(str(path))
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("more", ["NaN", "-Infinity", "1e999"])
def test_json_that_cannot_be_written_again_is_refused(more: str) -> None:
    data = load_text(JSONL).require().data
    assert data is not None
    (chunk,) = stream_corpus(io.BytesIO(ROW.format(1, 1, more).encode()), data)
    with pytest.raises(DcrfError, match="cannot be written again"):
        tagged(chunk, {"y": ["P"]})


def test_half_a_surrogate_pair_that_no_column_reads_is_written_again() -> None:
    data = load_text(JSONL).require().data
    assert data is not None
    (chunk,) = stream_corpus(io.BytesIO(ROW.format(1, 1, '"\\ud800 é"').encode()), data)
    assert json.loads(tagged(chunk, {"y": ["P"]}))["more"] == "\ud800 é"


class Endless(io.RawIOBase):
    def __init__(self, piece: bytes):
        self.piece, self.given = piece, 0

    def isatty(self) -> bool:
        return False

    def read(self, size: int = -1) -> bytes:
        self.given += size
        assert self.given < 1 << 28
        return self.piece * (size // len(self.piece))


@pytest.mark.long
@pytest.mark.parametrize(("piece", "slug"), [(b"\0", "binary-file"), (b"a P\n", "no-sentence-end")])
def test_a_file_without_an_end_is_not_read_for_ever(piece: bytes, slug: str) -> None:
    with pytest.raises(DcrfError) as caught:
        list(blocks(Endless(piece), cut_at_blank_line, size=1 << 21, file="endless"))  # type: ignore[arg-type]
    assert caught.value.diagnostics[0].slug == slug


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs the device /dev/zero")
def test_a_device_is_no_template() -> None:
    with pytest.raises(DcrfError, match="binary"):
        read_template("/dev/zero")


LEXICONS = {"carriage returns": b"a\rb\r", "zeros": b"a\0b\n", "a long line": b"a\n" + b"b\tc" * 100_000}


@pytest.mark.parametrize("case", LEXICONS)
def test_a_hostile_lexicon_is_one_short_message(case: str, tmp_path: Path) -> None:
    (tmp_path / "names").write_bytes(LEXICONS[case])
    with pytest.raises(DcrfError) as caught:
        read_lexicon("names", tmp_path / "names")
    assert len(str(caught.value)) < 400


def test_a_lexicon_by_an_impossible_name_is_a_message() -> None:
    with pytest.raises(DcrfError, match="cannot read lexicon"):
        read_lexicon("names", Path("a\0b"))


# what a person sees ---------------------------------------------------------------------------------------------------

ACTING = "".join(map(chr, (*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A),
                           0x2028, 0x2029, 0xFEFF, 0xD800, 0xDFFF)))  # fmt: skip


def test_what_acts_on_a_terminal_is_shown_escaped() -> None:
    assert all(printable(char) == ascii(char)[1:-1] for char in ACTING)
    assert printable("plain, é, 漢字, ⟨-1⟩") == "plain, é, 漢字, ⟨-1⟩"


def test_every_part_of_a_message_is_escaped() -> None:
    source = Source(f"f{ACTING}", f"a\tb\x1b\u202ec {ACTING}".replace("\n", ""))
    label = Label(Span(source, 5, 6), ACTING)
    found = [
        Diagnostic("slug", f"m{ACTING}", label, (Label(Span(source, 0, 1), ACTING),), help=f"h{ACTING}"),
        data_error("slug", ACTING, file=ACTING, line=1, help=ACTING).diagnostics[0],
    ]
    for text in map(render, found):
        assert not set(ACTING) - {"\n"} & set(text)


def test_marks_stand_below_what_they_mark() -> None:
    source = Source("f", "a \x1b word")
    lines = render(Diagnostic("slug", "m", Label(Span(source, 4, 8)))).split("\n")
    assert lines[3].index(r"\x1b word") + len(r"\x1b ") == lines[4].index("^^^^")


def test_drawings_of_any_words_are_well_formed() -> None:
    marks = tuple(VariableMark(f"y{char}", n, 2) for n, char in enumerate(ACTING))
    graph = GraphDrawing(f"title {ACTING}", tuple(f"<{char}&" for char in ACTING), marks, ())
    ElementTree.fromstring(FORMATS["svg"](graph).encode())
    for draw in FORMATS.values():
        assert not set(ACTING) - {"\n"} & set(draw(graph))


def test_json_has_no_numbers_that_json_has_not() -> None:
    value = {"score": np.inf, "all": [np.nan, 1.5, (-np.inf, {"a": np.nan})], "text": "\ud800é"}
    written = json_text(value, ensure_ascii=False)
    assert json.loads(written) == {"score": None, "all": [None, 1.5, [None, {"a": None}]], "text": "\ud800é"}
    written.encode()
