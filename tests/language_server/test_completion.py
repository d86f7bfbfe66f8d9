"""What is proposed at a cursor, in statements that are not finished."""

from __future__ import annotations

from pathlib import Path

import pytest
from editor_cases import BASE, CURSOR, marked, workspace

from dcrfdsl.language_server.completion import Proposals, propose
from dcrfdsl.semantics import CRITERIA, INFERENCE, entries_named
from dcrfdsl.semantics.settings import OPTIMIZERS, PRIORS
from dcrfdsl.syntax import KEYWORDS

STATES = ["B-NP", "I-NP", "B-VP", "I-VP", "O"]


def proposed(tail: str, base: str = BASE) -> Proposals:
    template, offset = marked(base + tail)
    return propose(template, offset, workspace(registered=["own"]), {"pos": ["DT", "NN"]})


def labels(tail: str, base: str = BASE) -> list[str]:
    return [item.label for item in proposed(tail, base).items]


# What is written -> all that is proposed, in this order.
EXACT = {
    "▌": list(KEYWORDS),
    "cl▌": list(KEYWORDS),
    "label ▌": ["word", "pos"],
    "label pos in ▌": ["bio", "bioes", "bilou", "bmes", "iob1", "states"],
    "label pos in {A, B} ▌": ["for", "with"],
    "label pos in {A, B} for ▌": ["sentence"],
    "label pos with ▌": ["others", "missing", "ambiguous", "soft", "source", "covers", "constrain"],
    "label pos with constrain = ▌": ["yes", "no"],
    "label pos in {A, O} with others = ▌": ["A", "O"],
    "latent z in states(▌": ["chunk"],
    "clique ▌": ["chunk"],
    "clique chunk ▌": ["where", "as", "with"],
    "clique chunk as two ▌": ["where", "with"],
    "clique chunk as ▌": [],
    "clique chunk with states = ▌": ["seen", "all"],
    "runs of ▌": ["chunk"],
    "runs of chunk ▌": ["is", "from", "up to", "as", "with"],
    "runs of chunk up ▌": ["to"],
    "runs of chunk from 2 with ends = ▌": ["cut", "whole"],
    "segment chunk ▌": ["from", "up to", "as", "with"],
    "clique chunk: word is ▌": ["not"],
    "forbid chunk is ▌": [*STATES, "not"],
    "forbid chunk[-1] is not ▌": STATES,
    "forbid chunk in {▌": STATES,
    "forbid chunk in {O, ▌": STATES,
    "forbid chunk is O and pos in ▌": ["days"],
    "once chunk except {▌": STATES,
    "infer ▌": list(INFERENCE),
    "infer trp(▌": [one.name for one in next(e for e in entries_named("trp") if e.settings).settings],
    "decode ▌": ["joint", "marginal", "local", "certified", "optimal", "fscore"],
    "train ▌": list(CRITERIA),
    "train likelihood: prior = ▌": list(PRIORS),
    "train likelihood:\n    seed = 3\n    optimizer = ▌": list(OPTIMIZERS),
    "train likelihood: prior = gaussian(▌": ["variance", "mean"],
    "train likelihood: prior = gaussian(variance = ▌": ["extent", "10"],
    "train likelihood: prior = gaussian(mean = ▌": ["here", "zero"],
    "train likelihood: cost = ▌": ["hamming", "cost", "segments", "sum"],
    "forbid chunk is O with cost = ▌": ["extent"],
    "train mce(measure = ▌": ["softmax", "difference", "ratio"],
    "piece one over ▌": ["chunk"],
    "piece one over chunk: ▌": ["here", "locked"],
    "evaluate segments(▌": ["chunk"],
    "decode fscore(▌": ["chunk", "gamma", "overall"],
    "evaluate events(chunk, ▌": ["chunk", "overlap =", "tolerance ="],
    "let a = 3 tune ▌": ["log", "linear", "among"],
    "data conll(word: ▌": ["text", "float", "int", "bag", "weighted_bag", "vector", "scores"],
    "data jsonl(logits: scores(▌": ["chunk"],
    "clique chunk: offset(▌": ["word", "pos"],
    "clique chunk: offset(word, ▌": ["scale"],
    "# clique ▌": [],
    'clique chunk: word is "▌': [],
    "clique chunk[i], chunk[j] as far:\n    where word[▌": ["i", "j"],
    "train likelihood as one\ntrain mce after ▌": ["one"],
}


@pytest.mark.parametrize("tail", EXACT)
def test_all_that_is_proposed(tail: str) -> None:
    assert labels(tail) == EXACT[tail]


@pytest.mark.parametrize(
    "tail", ["clique chunk: ▌", "clique chunk: word, ▌", "clique chunk:\n    ▌", "clique chunk:\n    word,\n    lo▌",
             "features more: ▌", "clique chunk: (word and ▌"],
)  # fmt: skip
def test_features(tail: str) -> None:
    found = labels(tail)
    assert {"word", "pos", "lower", "suffix", "own", "not"} <= set(found)
    assert ("form" in found) == ("(" not in tail or "and" in tail)


def test_clauses_of_a_block_stand_on_lines_of_their_own() -> None:
    assert {"where", "with"} <= set(labels("clique chunk:\n    ▌"))
    assert not {"where", "with"} & set(labels("clique chunk: ▌"))


def test_what_follows_a_term() -> None:
    assert labels("clique chunk: word ▌") == ["is", "in", "matches", "has", "and", "or", "&"]


def test_settings_say_their_defaults_and_meanings() -> None:
    one = next(item for item in proposed("train likelihood: prior = gaussian(▌").items if item.label == "variance")
    assert one.insert == "variance = "
    assert one.detail == "= 10"
    assert "default 10" in one.documentation


def test_a_clique_stands_in_dotted_settings() -> None:
    assert {"prior.here", "kernel.here", "prior", "seed"} <= set(labels("train likelihood: ▌"))


def test_states_of_the_data_where_none_are_declared() -> None:
    assert labels("label pos\nforbid pos is ▌") == ["DT", "NN", "not"]


def test_states_with_strange_letters_are_quoted() -> None:
    template, offset = marked("data conll(word, y)\nlabel y\nforbid y is ▌")
    found = propose(template, offset, workspace(), {"y": ["A", "A,B", "not"]})
    assert [item.label for item in found.items][:3] == ["A", '"A,B"', '"not"']


def test_the_word_that_is_replaced() -> None:
    found = proposed("clique chunk: lo▌wer(word)")
    assert (found.end - found.start) == len("lo")


def test_names_of_used_files() -> None:
    files = {Path("/templates/base.dcrf"): "data conll(token, y)\nlabel y in {A, B}\nfeatures shared: token\n"}
    template, offset = marked('use "base.dcrf"\nclique y: ▌')
    assert {"shared", "token"} <= {item.label for item in propose(template, offset, workspace(files), {}).items}


def test_states_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "states.txt").write_text("X\nY\n")
    template, offset = marked('label y in "states.txt"\nforbid y is ▌', tmp_path / "a.dcrf")
    assert [item.label for item in propose(template, offset, workspace(), {}).items] == ["X", "Y", "not"]
    (tmp_path / "states.txt").write_text("X\nY\nZed\n")
    assert "Zed" in [item.label for item in propose(template, offset, workspace(), {}).items]


def test_files_beside_the_template(tmp_path: Path) -> None:
    for name in ("base.dcrf", "days.txt", ".hidden"):
        (tmp_path / name).write_text("")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "deep.dcrf").write_text("")

    def files(text: str) -> list[str]:
        template, offset = marked(text, tmp_path / "a.dcrf")
        return [item.label for item in propose(template, offset, workspace(), {}).items]

    assert files('use "▌') == ["base.dcrf", "more/"]
    assert files('lexicon days = "d▌') == ["base.dcrf", "days.txt", "more/"]
    assert files('use "more/▌') == ["more/deep.dcrf"]


def test_a_cursor_before_any_statement() -> None:
    assert labels("▌", base="") == list(KEYWORDS)
    assert labels(f"# a comment {CURSOR}", base="") == []
