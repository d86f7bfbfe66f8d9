"""Features: values, the outside of a sequence, alphabet, storage, expansion. The law: rows are those of the twin."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from feature_cases import (
    GAPS,
    GROUP,
    GROUPS,
    KINDS,
    LEXICONS,
    RARE,
    REGISTERED,
    SENTENCES,
    SENTENCES_WITH_GAPS,
    TEMPLATES,
    call,
    corpus_of,
    cross,
    described,
    has,
    learn,
    matches,
    place,
    ref,
    sentence,
    spec_of,
    window,
)
from feature_twin import Twin, known_rows
from hypothesis import given, settings, strategies as st
from sampling import some

from dcrfdsl import syntax as model
from dcrfdsl.data.corpus import Corpus, InternedColumn
from dcrfdsl.features import (
    FeatureExtractor,
    Lexicons,
    expand_features,
    feature_alphabet as alphabet,
)
from dcrfdsl.features.values import row_blocks as block
from dcrfdsl.features.values.text_functions import TEXT_FUNCTIONS
from dcrfdsl.syntax import nodes as ex

SHARED = Path(__file__).parents[2].parent / "shared"

# the law ------------------------------------------------------------------------------------------------------------


def check_against_twin(
    features: tuple[ex.Feature, ...], pad: tuple[int, ...], train: list, other: list, gaps: bool = False
) -> None:
    spec = spec_of(*features, pad=pad, groups=GROUPS, gaps=gaps)
    twin = Twin(spec, LEXICONS, {name: (REGISTERED[name].function, kind) for name, kind in KINDS.items()})
    extractor, (learned,) = learn(spec, train)
    training = twin.rows(0, train)
    assert described(extractor, learned) == known_rows(training, training)
    (extracted,) = extractor.extract(corpus_of(other))
    assert described(extractor, extracted) == known_rows(twin.rows(0, other), training)
    assert extractor.sets[0].num_features == len({text for row in known_rows(training, training) for text in row})


@pytest.mark.parametrize("name", some(TEMPLATES, 9))
@settings(max_examples=15, deadline=None)
@given(train=SENTENCES, other=SENTENCES)
def test_rows_are_those_of_the_twin(name, train, other):
    check_against_twin(TEMPLATES[name], (), train, other)


@pytest.mark.parametrize("name", GAPS)
@settings(max_examples=25, deadline=None)
@given(pad=st.sampled_from([(), (-1,), (-2, 1)]), train=SENTENCES_WITH_GAPS, other=SENTENCES_WITH_GAPS)
def test_missing_numbers_are_those_of_the_twin(name, pad, train, other):
    some_number = sentence("a", temp=[1.0])  # of which functions are called at least once
    check_against_twin(GAPS[name], pad, [*train, some_number], other, gaps=True)


@pytest.mark.long
@pytest.mark.parametrize("pad", [(-1,), (1,), (-2, 1)])
@settings(max_examples=25, deadline=None)
@given(name=st.sampled_from(sorted(TEMPLATES)), train=SENTENCES, other=SENTENCES)
def test_rows_are_those_of_the_twin_with_padding(pad, name, train, other):
    check_against_twin(TEMPLATES[name], pad, train, other)


@pytest.mark.long
@pytest.mark.parametrize(
    ("rows", "direct", "largest"),
    [(3, 1 << 18, 1 << 62), (1 << 15, 4, 1 << 62), (5, 4, 64)],
    ids=["blocks", "hash", "stages"],
)
@settings(max_examples=40, deadline=None)
@given(name=st.sampled_from(sorted(TEMPLATES)), train=SENTENCES, other=SENTENCES)
def test_limits_of_blocks_and_keys_do_not_show(rows, direct, largest, name, train, other):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(block, "ROWS", rows)
        patch.setattr(alphabet, "DIRECT", direct)
        patch.setattr(alphabet, "LARGEST", largest)
        check_against_twin(TEMPLATES[name], (), train, other)


@pytest.mark.parametrize("name", some(TEMPLATES, 9))
@settings(max_examples=5, deadline=None)
@given(train=SENTENCES, other=SENTENCES)
def test_learned_extracted_and_restored_rows_are_the_same(name, train, other):
    spec = spec_of(*TEMPLATES[name], groups=GROUPS)
    extractor, learned = learn(spec, train)
    arrays = {key: np.frombuffer(array.tobytes(), array.dtype) for key, array in extractor.arrays().items()}
    metadata = json.loads(json.dumps(extractor.metadata()))
    assert not any(array.flags.writeable for array in arrays.values())
    restored = FeatureExtractor.restore(spec, arrays, metadata, registered=REGISTERED)
    assert_same_rows(extractor.extract(corpus_of(train)), learned)
    assert_same_rows(restored.extract(corpus_of(train)), learned)
    assert_same_rows(restored.extract(corpus_of(other)), extractor.extract(corpus_of(other)))
    assert restored.sets == extractor.sets
    features = range(extractor.sets[0].num_features)
    assert [restored.describe(0, f) for f in features] == [extractor.describe(0, f) for f in features]


def assert_same_rows(left, right):
    for a, b in zip(left, right, strict=True):
        for one, other in zip(a, b, strict=True):
            np.testing.assert_array_equal(one, other)


# decided semantics, one by one --------------------------------------------------------------------------------------

ROWS = {
    "each side and distance has its own value": (
        (ref("word", -2), ref("word", 1)),
        "a b",
        [{"word[-2]=⟨-2⟩", "word[1]=b"}, {"word[-2]=⟨-1⟩", "word[1]=⟨+1⟩"}],
    ),
    "the outside takes part in a cross": (
        (cross(ref("word", -1), ref("word")),),
        "a b",
        [{"word[-1]=⟨-1⟩ & word=a"}, {"word[-1]=a & word=b"}],
    ),
    "a prefix range gives one boundary feature": (
        (call("prefix", ref("word"), (1, 3), at=-1),),
        "ab c",
        [{"prefix(word, 1..3)[-1]=⟨-1⟩"}, {"prefix(word, 1..3)[-1]=a", "prefix(word, 1..3)[-1]=ab"}],
    ),
    "a test is false outside, negated or not": (
        (
            ex.Is(term=ref("word", 1), state="b"),
            ex.Is(term=ref("word", 1), state="b", negated=True),
            ex.Not(inner=ex.Is(term=ref("word", 1), state="b")),
        ),
        "a b",
        [{"word[1] is b"}, set()],
    ),
    "a function of the outside is the outside": ((call("shape", ref("word"), at=1),), "a", [{"shape(word)[1]=⟨+1⟩"}]),
    "length joins 20 and more": (
        (call("length", ref("word")),),
        f"{'a' * 19} {'a' * 20} {'a' * 30}",
        [{"length(word)=19"}, {"length(word)=20+"}, {"length(word)=20+"}],
    ),
    "shape": (
        (call("shape", ref("word")), call("shape", ref("word"), short="yes")),
        "McDonald's-2nd",
        [{"shape(word)=XxXxxxxx'x-dxx", "shape(word, short = yes)=XxXx'x-dx"}],
    ),
    "matches is the whole value, has is somewhere": (
        (matches(ref("word"), "[a-z]+"), has(ref("word"), "[a-z]+")),
        "ab aB",
        [{"word matches /[a-z]+/", "word has /[a-z]+/"}, {"word has /[a-z]+/"}],
    ),
    "an n-gram that comes twice is one feature": (
        (call("chars", ref("word"), 2),),
        "anan",
        [{"chars(word, 2)=an", "chars(word, 2)=na"}],
    ),
    "a value of a map or nothing": ((call("brill", ref("word")),), "a b", [{"brill(word)=DT"}, set()]),
    "the longest match, from the left": (
        (ex.Apply(function="span", arguments=(ex.Argument(value=ref("word")), ex.Argument(value=ref("places")))),),
        "in York New York York New Yorkshire",
        [
            set(),
            {"span(word, places)=B"},
            {"span(word, places)=I"},
            {"span(word, places)=I"},
            set(),
            {"span(word, places)=B"},
            set(),
        ],
    ),
    "a plain word after = is a value, and a constant its text": (
        (ex.Equals(left=ref("pos"), right=ref("N")), ex.Equals(left=ref("pos"), right=ref("noun"), negated=True)),
        "a",
        [{"pos is N"}],
    ),
    "a constant as an argument": ((call("prefix", ref("word"), ref("two")),), "abc", [{"prefix(word, two)=ab"}]),
    "what is listed twice is one feature": (
        (ref("word"), window("word", 0, 0), cross(ref("word"), ref("word"))),
        "a",
        [{"word=a"}],
    ),
}


@pytest.mark.parametrize("case", ROWS)
def test_rows(case):
    features, words, expected = ROWS[case]
    extractor, (rows,) = learn(spec_of(*features), [sentence(words)])
    assert [set(row) for row in described(extractor, rows)] == expected


@pytest.mark.parametrize(("function", "text"), [("part", "a a b"), ("chars", "aa")])
def test_a_function_of_a_text_gives_each_value_once(function, text):
    given = TEXT_FUNCTIONS[function]((1, 2, 3))(text)
    assert len(given) == len(set(given)) > 1


def test_min_count_counts_positions_of_the_expanded_indicator():
    group = model.FeatureGroup(name="g", features=(window("word", 0, 1),), min_count=ref("two"))
    extractor, (rows,) = learn(spec_of(ref("g"), groups=(group,)), [sentence("a b"), sentence("c b")])
    # b is read twice at each place, and the end is twice one further
    assert [set(row) for row in described(extractor, rows)] == [{"word[1]=b"}, {"word=b", "word[1]=⟨+1⟩"}] * 2


@pytest.mark.long
def test_ids_go_by_count_ties_by_first_appearance() -> None:
    """Also of counts beyond 16 bits, which are sorted by more than one pass."""
    words = ["c", "b", *["a"] * 70_000, *["d"] * 200_000, *["e"] * 70_000, "b"]
    extractor, _ = learn(spec_of(ref("word")), [sentence(" ".join(words), " ".join("N" for _ in words))])
    order = [extractor.describe(0, feature) for feature in range(extractor.sets[0].num_features)]
    assert order == ["word=d", "word=a", "word=e", "word=b", "word=c"]


def test_ids_begin_with_the_most_frequent_feature():
    extractor, (rows,) = learn(spec_of(ref("word")), [sentence("c a b a b a")])
    assert [extractor.describe(0, f) for f in range(3)] == ["word=a", "word=b", "word=c"]
    assert rows.feature.tolist() == [2, 0, 1, 0, 1, 0]


def test_a_text_that_training_did_not_see_has_no_feature():
    extractor, _ = learn(spec_of(ref("word"), cross(ref("word"), ref("pos"))), [sentence("a b", "N V")])
    (rows,) = extractor.extract(corpus_of([sentence("b z", "N N")]))
    assert [set(row) for row in described(extractor, rows)] == [{"word=b"}, set()]


def test_rows_store_no_values_where_all_are_1():
    _, (rows,) = learn(spec_of(ref("temp"), ref("word")), [sentence("a b", temp=[1.0, 0.0])])
    assert (len(rows.value), len(rows.feature)) == (0, 3)
    _, (rows,) = learn(spec_of(ref("temp"), ref("word")), [sentence("a b", temp=[2.0, 0.0])])
    assert rows.value.tolist() == [2.0, 1.0, 1.0]


def test_cliques_share_the_feature_sets_that_are_equal():
    def clique(*features, pad=False, site=-1):
        sites = (model.Site(variable="y", place=place(site)), model.Site(variable="y", place=place()))
        return model.CliqueSpec(sites=sites, features=features, edges="pad" if pad else "inside")

    where = ex.Equals(
        left=ex.Reference(name="word", place=ex.Named(position="i")),
        right=ex.Reference(name="word", place=ex.Named(position="j")),
    )
    joined = model.CliqueSpec(
        sites=(model.Site(variable="y", place=ex.Named(position="i")),), where=where, features=(ref("bias"),)
    )
    cliques = (
        clique(), clique(ref("bias")), clique(ref("word")), clique(ref("bias"), ref("word")), clique(ref("pos")),
        clique(ref("word"), pad=True), joined,
    )  # fmt: skip
    spec = spec_of().model_copy(update={"cliques": cliques})
    extractor, rows = learn(spec, [sentence("a b c"), sentence("d")])
    assert extractor.set_of_clique == (-1, -1, 0, 0, 1, 2, -1)
    assert extractor.bias_of_clique == (True, True, False, True, False, False, True)
    assert [(info.pad_left, info.pad_right) for info in extractor.sets] == [(0, 0), (0, 0), (0, 1)]
    assert [len(one.row_off) - 1 for one in rows] == [4, 4, 6]
    assert [set(row) for row in described(extractor, rows[2], 2)][3:] == [{"word=⟨+1⟩"}, {"word=d"}, {"word=⟨+1⟩"}]


def test_templates_that_never_fire_are_counted():
    extractor, _ = learn(spec_of(ref("word"), has(ref("word"), "z")), [sentence("a b")])
    assert extractor.sets[0].templates == ("word", "word has /z/")
    assert extractor.sets[0].features_of_template == (2, 0)


@pytest.mark.parametrize("sentences", [[], [sentence("")], [sentence("a")]], ids=["none", "empty", "one token"])
def test_the_smallest_data(sentences):
    features = (
        ref("word", -1),
        call("chars", ref("word"), 2),
        ref("temp"),
        ref("index"),
        ex.Equals(left=ref("word"), right=ref("word", 1)),
    )
    span = ex.Apply(function="span", arguments=(ex.Argument(value=ref("word")), ex.Argument(value=ref("places"))))
    extractor, (rows,) = learn(spec_of(*features, span), sentences)
    assert [set(row) for row in described(extractor, rows)] == [{"word[-1]=⟨-1⟩", "index=1"}] * sum(
        len(s["word"]) for s in sentences
    )


# expansion ----------------------------------------------------------------------------------------------------------

NAMES = {
    "window": ((window("word", -1, 1),), ["word[-1]", "word", "word[1]"]),
    "list": ((ref("word", -2, 0, 3),), ["word[-2]", "word", "word[3]"]),
    "places add up": ((call("lower", ref("word", -1), at=-1),), ["lower(word)[-2]"]),
    "a group is shifted as a whole": (
        (window("q", 0, 1),),
        ["word", "word has /[0-9]/", "pos & pos[1]", "word[1]", "word[1] has /[0-9]/", "pos[1] & pos[2]"],
    ),
    "bias is no feature of rows": ((ref("bias"), cross(ref("bias"), ref("word"))), ["word"]),
    "a vector has a feature a component": ((ref("pixels", 1),), ["pixels[1]#0", "pixels[1]#1"]),
    "a condition": (
        (ex.And(parts=(ex.Or(parts=(ref("first"), ref("last"))), ex.Not(inner=has(ref("word", 1), "a", True)))),),
        ["(first or last) and not word[1] has /a/i"],
    ),
}


@pytest.mark.parametrize("case", NAMES)
def test_expansion(case):
    features, names = NAMES[case]
    expanded, _ = expand_features(spec_of(groups=(GROUP,)), features)
    assert [one.name for one in expanded] == names


def test_a_feature_inherits_the_options_of_its_groups():
    outer = model.FeatureGroup(name="outer", features=(ref("rare"), ref("word")), outside="skip")
    expanded, _ = expand_features(spec_of(groups=(RARE, outer)), (ref("outer"), ref("pos")))
    options = {one.name: (one.min_count, one.outside) for one in expanded}
    # `pos` is also listed outside of the groups: the laxer options hold
    assert options == {
        "lower(word)[-1]": (2, "skip"), "lower(word)": (2, "skip"), "lower(word)[1]": (2, "skip"),
        "pos": (1, "boundary"), "word": (1, "skip"),
    }  # fmt: skip


# the room -----------------------------------------------------------------------------------------------------------


def test_the_room_loads_nothing_heavy():
    heavy = {"numba", "re2", "scipy", "networkx"}
    code = (
        f"import sys, dcrfdsl.features, dcrfdsl.semantics.schema.function_signatures; print({heavy} & set(sys.modules))"
    )
    root = Path(__file__).parents[2]
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True).stdout
        == "set()\n"
    )


@pytest.mark.long
def test_chunking_features_of_conll_2000_have_456468_weights():
    """With CRFsuite's templates a weight is a seen pair of a feature and a label, or a seen move between labels."""
    file = SHARED / "data/conll2000/train.txt"
    if not file.exists():
        pytest.skip("needs the CoNLL-2000 corpus in ../shared/data")
    blocks = [[line.split() for line in part.split("\n")] for part in file.read_text().strip().split("\n\n")]
    columns = {}
    for i, name in enumerate(("word", "pos", "chunk")):
        ids: dict[str, int] = {}
        codes = np.array([ids.setdefault(line[i], len(ids)) for lines in blocks for line in lines], np.int32)
        columns[name] = InternedColumn(codes, list(ids))
    off = np.cumsum([0, *map(len, blocks)])
    corpus = Corpus(str(file), off, columns, np.arange(off[-1]))
    pos = [
        cross(*(ref("pos", o) for o in offsets))
        for offsets in ((-2, -1), (-1, 0), (0, 1), (1, 2), (-2, -1, 0), (-1, 0, 1), (0, 1, 2))
    ]
    words = (window("word", -2, 2), cross(ref("word", -1), ref("word")), cross(ref("word"), ref("word", 1)))
    extractor, (rows,) = FeatureExtractor.learn(
        spec_of(*words, window("pos", -2, 2), *pos), corpus, resources=Lexicons()
    )
    label = columns["chunk"].codes.astype(np.int64)
    pairs = np.unique(rows.feature.astype(np.int64) * 100 + np.repeat(label, np.diff(rows.row_off)))
    inside = np.setdiff1d(np.arange(off[-1]), off[:-1])
    moves = np.unique(label[inside - 1] * 100 + label[inside])
    assert len(extractor.sets[0].templates) == 19
    assert len(pairs) + len(moves) == 456_468
