"""CRFsuite's binary models: what CRFsuite writes is read, what we write it reads, and damage is an error."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import numpy as np
import pytest

from dcrfdsl.crfsuite import CrfsuiteModel, ModelFileError, crfsuite_bytes, read_crfsuite, read_crfsuite_file
from dcrfdsl.crfsuite.cqdb import lookup3

pycrfsuite = pytest.importorskip("pycrfsuite", reason="python-crfsuite is in the extra `test`")
from crfsuite_cases import KINDS, nested_items, trained_file  # noqa: E402


def without_flags(content: bytes) -> bytes:
    """The file with the flags of its dictionaries blank, since CRFsuite writes whatever its memory has there."""
    plain = bytearray(content)
    for at in struct.unpack_from("<2I", content, 32):
        plain[at + 8 : at + 12] = bytes(4)
    return bytes(plain)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dense", [False, True])
def test_a_model_read_and_written_is_the_same_file(tmp_path: Path, kind: str, dense: bool) -> None:
    params = {"feature.possible_transitions": dense, "feature.possible_states": dense, "c1": 0.01}
    content = trained_file(tmp_path / "m", KINDS[kind](dense), **params)
    assert crfsuite_bytes(read_crfsuite_file(tmp_path / "m")) == without_flags(content)


def test_models_are_read_as_crfsuite_prints_them(tmp_path: Path) -> None:
    trained_file(tmp_path / "m", nested_items(9), c1=0.05)
    model, tagger = read_crfsuite_file(tmp_path / "m"), pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "m"))
    info = tagger.info()
    assert model.labels == tagger.labels() == list(info.labels)
    assert model.attributes == list(info.attributes)
    states = {
        (model.attributes[attribute], model.labels[label]): round(weight, 6)
        for attribute, label, weight in zip(
            model.state_attributes, model.state_labels, model.state_weights.tolist(), strict=True
        )
    }
    transitions = {
        (model.labels[left], model.labels[right]): round(weight, 6)
        for left, right, weight in zip(
            model.transition_from, model.transition_to, model.transition_weights.tolist(), strict=True
        )
    }
    assert (states, transitions) == (info.state_features, info.transitions)


def made(seed: int, num_labels: int, num_attributes: int) -> CrfsuiteModel:
    """A model of our own with random weights."""
    chance = np.random.default_rng(seed)
    states = chance.random((num_attributes, num_labels)) < 0.4
    transitions = chance.random((num_labels, num_labels)) < 0.6
    rows, columns = (part.astype(np.int32) for part in np.nonzero(states))
    left, right = (part.astype(np.int32) for part in np.nonzero(transitions))
    names = [f"a{number}" + "é" * int(chance.integers(30)) for number in range(num_attributes)]
    return CrfsuiteModel(
        [f"B-é{number}" for number in range(num_labels)], names,
        rows, columns, chance.normal(size=len(rows)), left, right, chance.normal(size=len(left)),
    )  # fmt: skip


@pytest.mark.parametrize(
    "seed, num_labels, num_attributes", [(0, 1, 0), (1, 1, 1), (2, 3, 400), (3, 40, 90), (4, 2, 3000)]
)
def test_a_model_of_our_own_is_opened_by_crfsuite(seed: int, num_labels: int, num_attributes: int) -> None:
    model, tagger = made(seed, num_labels, num_attributes), pycrfsuite.Tagger()
    content = crfsuite_bytes(model)
    tagger.open_inmemory(content)
    assert tagger.labels() == model.labels
    assert list(map(int, tagger.info().attributes.values())) == list(range(num_attributes))
    again = read_crfsuite(content)
    assert (again.labels, again.attributes) == (model.labels, model.attributes)
    for name in ("state_attributes", "state_labels", "state_weights", "transition_from", "transition_to"):
        assert (getattr(again, name) == getattr(model, name)).all()
    for attribute in range(0, num_attributes, 50):  # each is found by its hash
        of_it = model.state_attributes == attribute
        scores = np.zeros(num_labels)
        scores[model.state_labels[of_it]] = model.state_weights[of_it]
        tagger.set([[model.attributes[attribute]]])
        expected = np.exp(scores) / np.exp(scores).sum()
        assert [tagger.marginal(label, 0) for label in model.labels] == pytest.approx(expected, abs=1e-12)


def test_names_that_are_no_utf8_stay_bytes(tmp_path: Path) -> None:
    content = trained_file(tmp_path / "m", [([[b"\xff", "a"], ["b"]], ["x", "y"])])
    model = read_crfsuite(content)
    assert sorted(map(repr, model.attributes)) == ["'a'", "'b'", "b'\\xff'"]
    assert crfsuite_bytes(model) == without_flags(content)


def scalar_hash(key: bytes) -> int:
    """`hashlittle` of lookup3, a step at a time."""

    def rotated(word: int, bits: int) -> int:
        return (word << bits | word >> 32 - bits) & 0xFFFFFFFF

    a = b = c = (0xDEADBEEF + len(key)) & 0xFFFFFFFF
    while True:
        block, key = struct.unpack("<3I", key[:12].ljust(12, b"\0")), key[12:]
        a, b, c = ((word + part) & 0xFFFFFFFF for word, part in zip((a, b, c), block, strict=True))
        if not key:
            break
        for bits in (4, 6, 8, 16, 19, 4):
            a, c = (a - c & 0xFFFFFFFF) ^ rotated(c, bits), c + b & 0xFFFFFFFF
            a, b, c = b, c, a
    for bits in (14, 11, 25, 16, 4, 14, 24):
        c = (c ^ b) - rotated(b, bits) & 0xFFFFFFFF
        a, b, c = b, c, a
    return b


def test_hashes_of_many_keys_are_those_of_one() -> None:
    assert scalar_hash(b"Four score and seven years ago") == 0x17770551  # the value that its author gives
    chance = random.Random(1)
    keys = [chance.randbytes(length) for length in (1, 11, 12, 13, 24, 25, 300, *range(1, 60))]
    found = lookup3(np.frombuffer(b"".join(keys), np.uint8), np.array([len(key) for key in keys]))
    assert found.tolist() == [scalar_hash(key) for key in keys]


# damage -----------------------------------------------------------------------------------------------------------


def mutated(content: bytes, chance: random.Random) -> bytes:
    """The file with a few bits, bytes or words changed, or a part of it cut, doubled or moved."""
    damaged = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(damaged))
        kind = chance.randrange(7)
        if kind == 0:
            damaged[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            damaged[at] = chance.randrange(256)
        elif kind == 2:  # a word: counts and offsets that are huge, or lead elsewhere
            word = chance.choice((0, 1, 0x7FFFFFFF, 0xFFFFFFFF, 0x80000000, chance.randrange(len(content))))
            at = chance.choice((at // 4 * 4, 4 * chance.randrange(12)))
            damaged[at : at + 4] = struct.pack("<I", word)
        elif kind == 3:
            del damaged[max(at, 48) :]
        elif kind == 4:
            damaged[at:at] = damaged[at : at + chance.randrange(1, 64)]
        elif kind == 5:
            del damaged[at : at + chance.randrange(1, 64)]
        else:
            other, length = chance.randrange(len(damaged)), 4 * chance.randrange(1, 9)
            damaged[at : at + length] = damaged[other : other + length]
        if len(damaged) < 48:
            break
    return bytes(damaged)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 8))])
def test_a_damaged_file_is_an_error_or_a_model(tmp_path: Path, seed: int) -> None:
    content = crfsuite_bytes(made(seed, 5, 40))
    chance = random.Random(seed)
    refused = 0
    for _ in range(300):
        try:
            model = read_crfsuite(mutated(content, chance), "m")
        except ModelFileError as error:
            refused += 1
            assert error.diagnostics[0].slug in ("corrupt-model", "truncated-model", "not-a-model")
        else:
            crfsuite_bytes(model)
    assert refused > 200


def test_a_shortened_file_is_an_error_at_every_length() -> None:
    content = crfsuite_bytes(made(1, 2, 3))
    for length in range(0, len(content), 7):
        with pytest.raises(ModelFileError, match=r"truncated-model|not-a-model"):
            read_crfsuite(content[:length])
