"""`examples/tagger`: its templates, clusters of words, the arithmetic of its table, and a run of the whole."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from helpers import ROOT, example_modules

from dcrfdsl.cli import run as dcrfdsl_command

FOLDER = ROOT / "examples" / "tagger"

word_clusters, run = example_modules(FOLDER, "word_clusters", "run")

WORDS = {
    ("DET", "DT", "Definite=Def"): ("the", "this"),
    ("NOUN", "NN", "Number=Sing"): ("dog", "cat", "house", "tree", "road"),
    ("NOUN", "NNS", "Number=Plur"): ("dogs", "cats", "houses", "trees", "roads"),
    ("VERB", "VBZ", "Number=Sing"): ("sees", "likes", "finds", "takes", "keeps"),
    ("VERB", "VBP", "Number=Plur"): ("see", "like", "find", "take", "keep"),
}
ORDERS = ((0, 1, 3, 0, 2), (0, 2, 4, 0, 1))


def sentences(count: int, seed: int) -> list[list[tuple[str, tuple[str, str, str]]]]:
    rng, tags = random.Random(seed), list(WORDS)
    return [[(rng.choice(WORDS[tags[n]]), tags[n]) for n in rng.choice(ORDERS)] for _ in range(count)]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("treebank")
    for name, count in (("train", 60), ("dev", 20)):
        blocks = (
            "".join(
                f"{n}\t{word}\t_\t{upos}\t{xpos}\t{feats}\t_\t_\t_\t_\n"
                for n, (word, (upos, xpos, feats)) in enumerate(sentence, 1)
            )
            for sentence in sentences(count, count)
        )
        (folder / f"{name}.conllu").write_text("\n".join(blocks) + "\n", encoding="utf-8")
    return folder / "train.conllu", folder / "dev.conllu"


@pytest.mark.parametrize("name", ["token.dcrf", "tagger.dcrf", "clustered.dcrf", "lexical.dcrf", "apart.dcrf"])
def test_the_templates_are_in_the_canonical_layout(name: str) -> None:
    assert dcrfdsl_command(["fmt", "--check", "--quiet", str(FOLDER / name)]) == 0


def test_words_of_a_kind_share_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_clusters, "COARSE", 5)
    words = [[word for word, _ in sentence] for sentence in sentences(3000, 1)]
    paths = word_clusters.word_clusters(words, least=3)
    assert set(paths) == {word for kind in WORDS.values() for word in kind}
    coarse = [{paths[word][:2] for word in kind} for kind in WORDS.values()]
    assert all(len(found) == 1 for found in coarse)
    assert len(set.union(*coarse)) == len(WORDS)
    assert word_clusters.word_clusters(words, least=3) == paths


def test_files_are_read_as_sentences(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The dog\nsees\n", encoding="utf-8")
    (tmp_path / "b.conllu").write_text("# x\n1-2\tIm\t_\n1\tIn\t_\n2\tdem\t_\n\n1\tHaus\t_\n", encoding="utf-8")
    found = list(word_clusters.sentences_of_files([tmp_path / "a.txt", tmp_path / "b.conllu"]))
    assert [words for words in found if words] == [["the", "dog"], ["sees"], ["in", "dem"], ["haus"]]


def test_too_few_words_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="only 1 words occur 2 times"):
        word_clusters.word_clusters([["a", "a", "b"]], least=2)


def test_shares_count_a_token_that_is_right_in_all_layers() -> None:
    right = {"upos": [True, True, False, True], "xpos": [True, False, False, True], "feats": [True, True, True, False]}
    found = run.shares(right, [False, False, False, True])
    assert found["every"] == {"upos": 75.0, "xpos": 50.0, "feats": 75.0, "all": 25.0}
    assert found["known"]["all"] == pytest.approx(100 / 3)
    assert found["unknown"] == {"upos": 100.0, "xpos": 100.0, "feats": 0.0, "all": 0.0}


def test_the_turkish_treebank_is_cut_at_every_fifth_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "source.conllu"
    source.write_text("".join(f"# {n}\n1\tev\n\n" for n in range(7)), encoding="utf-8")
    monkeypatch.setattr(run, "treebank_file", lambda name: source)
    train, dev = run.turkish_parts(tmp_path / "out")
    numbers = [[line[2:] for line in path.read_text().splitlines() if line.startswith("#")] for path in (train, dev)]
    assert numbers == [list("012356013456"), ["4", "2"]]  # both files hold the same seven
    assert train.read_text().endswith("ev\n\n")
    for wrong in ([], ["--turkish", "--dev", "x"], ["--train", "x"]):
        with pytest.raises(SystemExit):
            run.main([*wrong, "--out", str(tmp_path / "a.json")])
    assert "or --turkish" in capsys.readouterr().err


def test_the_model_with_a_lexicon_needs_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run.main(["--train", "a", "--dev", "b", "--model", "joint, lexicon", "--out", str(tmp_path / "a.json")])
    assert "needs --lexicon" in capsys.readouterr().err


@pytest.mark.long
def test_a_quick_run_with_a_lexicon(files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_clusters, "COARSE", 5)
    (tmp_path / "lexicon").write_text("".join(f"{word} {tag}\n" for (_, tag, _), own in WORDS.items() for word in own))
    out, (train, dev) = tmp_path / "quick.json", map(str, files)
    given = ["--train", train, "--dev", dev, "--lexicon", str(tmp_path / "lexicon"), "--model", "joint, lexicon"]
    assert run.main([*given, "--out", str(out), "--quick", "--threads", "1"]) == 0
    result = json.loads(out.read_text(encoding="utf-8"))
    assert set(result["rows"]) == {"joint, lexicon"}
    assert result["rows"]["joint, lexicon"]["every"]["all"] > 95.0


@pytest.mark.long
def test_a_quick_run_says_what_each_model_gets_right(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(word_clusters, "COARSE", 5)
    out = tmp_path / "quick.json"
    train, dev = map(str, files)
    assert run.main(["--train", train, "--dev", dev, "--out", str(out), "--quick", "--threads", "1"]) == 0
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["complete"]
    assert set(result["rows"]) == {"joint", "joint, clusters", "chains apart"}
    assert result["rows"]["joint"]["every"]["all"] > 95.0  # every word has one tag here
    assert "UDPipe 1.2" in capsys.readouterr().out
    trainings = out.with_suffix(".jsonl").read_text(encoding="utf-8")
    run.main(["--train", train, "--dev", dev, "--out", str(out), "--quick", "--threads", "1"])
    assert out.with_suffix(".jsonl").read_text(encoding="utf-8") == trainings  # nothing is trained again
