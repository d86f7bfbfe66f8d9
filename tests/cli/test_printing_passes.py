"""`check --print`: what golden tests can hold, and texts that mean the same as what they were made of."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from helpers import EXAMPLES, LANGUAGE, ROOT
from jsonschema import Draft202012Validator

from dcrfdsl import ModelSpec, load_template, load_text
from dcrfdsl.cli import run
from dcrfdsl.cli.check_command import PASSES
from dcrfdsl.cli.schema_command import json_schema
from dcrfdsl.features.plan import Expansion, expand
from dcrfdsl.semantics import check, decode_rule, inference_settings, stage_chain, stage_settings
from dcrfdsl.semantics.settings.piece_shorthands import expanded

Captured = pytest.CaptureFixture[str]
TEMPLATES = sorted(
    [*(ROOT / "templates").glob("*.dcrf"), *(ROOT / "examples").glob("*/*.dcrf"), *LANGUAGE.glob("good/*/*.dcrf")]
)
SPECIFICATION = Draft202012Validator(json_schema("model"))


def in_any_order(expansion: Expansion) -> Expansion:
    """Sorted features: tests of missing numbers follow a whole window, and each place where it is written out."""
    sets = tuple(replace(plan, features=tuple(sorted(plan.features, key=repr))) for plan in expansion.sets)
    return replace(expansion, sets=sets)


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.dcrf").write_text("data conll(word, tag)\nlabel tga in {DT, NN}\nclique tag: bias, wrod\n")
    return tmp_path


@pytest.mark.parametrize("kind", ["ast", "spec", "expanded", "graph"])
@pytest.mark.parametrize("path", [EXAMPLES / "02_factorial.dcrf", EXAMPLES / "06_pieces.dcrf"], ids=lambda p: p.stem)
def test_a_pass_prints_what_it_did(
    path: Path, kind: str, golden: Callable[[Path, str], None], capsys: Captured
) -> None:
    assert run(["check", str(path), "--print", kind]) == 0
    golden(Path(__file__).parent / "passes" / f"{path.stem}.{kind}.txt", capsys.readouterr().out)


# Parts of templates, for others to use.
PARTS = {
    "ner_features.dcrf", "pos_features.dcrf", "table2.dcrf", "token.dcrf", "opinion.dcrf", "chunk_trainings.dcrf",
}  # fmt: skip
MADE = {"clusters.txt": "car\t0110\nhouse\t0111\n", "lexicon.txt": "plan\tNN|VB\n"}  # by the programs beside templates


@pytest.mark.parametrize("path", [path for path in TEMPLATES if path.name not in PARTS], ids=name)
def test_a_template_written_out_means_the_same(path: Path, tmp_path: Path) -> None:
    """It is a template that the checker accepts with the same remarks; features, settings and rules are the same; what
    is written out once more is itself.
    """
    if path.parent.name in ("beyond", "tagger"):
        shutil.copytree(path.parent, tmp_path, dirs_exist_ok=True)
        for file, text in MADE.items():
            (tmp_path / file).write_text(text, encoding="utf-8")
        path = tmp_path / path.name
    resolved = load_template(path)
    assert not any(one.severity == "error" for one in check(resolved, registered=None))
    text = PASSES["expanded"](resolved, None, path.parent)
    again = load_text(text, str(path), directory=path.parent)
    assert PASSES["expanded"](again, None, path.parent) == text
    spec, other = expanded(resolved.spec), again.spec
    slugs = [sorted(one.slug for one in check(each, registered=None)) for each in (resolved, again)]
    assert slugs[0] == slugs[1]
    assert in_any_order(expand(other)) == in_any_order(expand(spec))
    assert inference_settings(other) == inference_settings(spec)
    for stage in stage_chain(spec):
        as_by_default = stage_settings(spec, stage.label).decode
        settled = stage_settings(other, stage.label).model_copy(update={"decode": as_by_default})
        assert settled == stage_settings(spec, stage.label)
        assert decode_rule(other, stage.label).name == decode_rule(resolved.spec, stage.label).name
    for part in (
        "data",
        "labels",
        "latents",
        "memories",
        "views",
        "lexicons",
        "lets",
        "constraints",
        "onces",
        "expectations",
        "pieces",
    ):
        assert getattr(other, part) == getattr(spec, part), part


def test_files_of_another_folder_are_found_from_a_template_written_out(here: Path, capsys: Captured) -> None:
    """The paths in a file that is used are relative to that file."""
    (here / "parts").mkdir()
    (here / "parts" / "places.txt").write_text("Bath\n")
    (here / "states.txt").write_text("A\nB\n")
    (here / "parts" / "used.dcrf").write_text('lexicon places = "places.txt"\nlabel tag in "../states.txt"\n')
    (here / "main.dcrf").write_text('data conll(word, tag)\nuse "parts/used.dcrf"\nclique tag: word in places\n')
    for main, folder in (("main.dcrf", "."), (str(here / "main.dcrf"), "/"), ("../main.dcrf", "parts")):
        with contextlib.chdir(here / folder):
            assert run(["check", main, "--print", "expanded"]) == 0
        text = capsys.readouterr().out
        assert 'lexicon places = "parts/places.txt"' in text and 'label tag in "states.txt"' in text
    (here / "written.dcrf").write_text(text)
    assert run(["check", "written.dcrf"]) == 0


def test_no_default_is_left_out_and_no_window_is_left() -> None:
    text = PASSES["expanded"](load_template(ROOT / "templates" / "skip_chain.dcrf"), None, ROOT)
    assert ".." not in re.sub(r"##.*|(pre|suf)fix\(.*?\)", "", text)
    for words in ("prior = gaussian(variance = 10", "constrain = yes", "outside = boundary", "link = next", "decode ="):
        assert words in text, words


def test_pieces_of_cliques_without_a_name_can_be_written_down() -> None:
    """`check --expand` printed `piece next_y over y: y, y[-1], y`, which names no clique."""
    resolved = load_text(
        "data conll(w, y)\nlabel y\nclique y: bias, w\nclique y[-1], y\ntrain memm\nlet clique_1 = 3\n"
    )
    text = PASSES["expanded"](resolved, None, Path())
    assert "piece next_y over y: clique_1_, clique_2" in text
    assert [one for one in check(load_text(text)) if one.severity == "error"] == []


def test_pieces_of_a_shorthand_take_no_name_of_another_thing() -> None:
    """They took the place of a piece of the template, which another stage trains."""
    text = (
        "data conll(w, next_a)\nlabel next_a\nlabel y in {A, B}\nclique next_a as words: bias\nclique y as tags: bias\n"
    )
    text = text.replace("label y in", "latent y in")
    text += "piece next_y over y: tags, words\ntrain piecewise(next_y) as own\ntrain memm as all after own\n"
    spec = expanded(load_text(text).spec)
    pieces = {piece.name: [member.clique for member in piece.members] for piece in spec.pieces}
    assert pieces == {"next_y": ["tags", "words"], "next_next_a": ["words"], "next_y_": ["tags"]}


@pytest.mark.parametrize("path", TEMPLATES, ids=name)
def test_a_specification_is_read_back_from_its_json(path: Path) -> None:
    resolved = load_template(path)
    record = json.loads(PASSES["spec"](resolved, None, path.parent))
    SPECIFICATION.validate(record)
    assert ModelSpec.model_validate(record) == resolved.spec


def test_cliques_are_unrolled_as_the_graph_has_them() -> None:
    """Beside all sets of sites that lie in a sentence, or of which one does."""
    text = (
        "data conll(w, a)\nlabel a in {x, y}\nlabel b in {x}\nclique a[-2], b as farOPTION: w\nclique a[1], a as near\n"
    )
    for padded in (False, True):
        option = " with edges = pad" if padded else ""
        listing = PASSES["graph"](load_text(text.replace("OPTION", option)), None, ROOT)
        block = listing.partition("clique far: a[-2], b\n")[2].partition("\n\n")[0].splitlines()
        sites = [((t - 2, "a"), (t, "b")) for t in range(1 - 2, 4 + 3)]
        inside = [[1 <= t <= 4 for t, _ in pair] for pair in sites]
        kept = [pair for pair, lies in zip(sites, inside, strict=True) if (any if padded else all)(lies)]
        expected = [
            ", ".join(f"{v}[{t}]" if 1 <= t <= 4 else ("START" if t < 1 else "STOP") for t, v in p) for p in kept
        ]
        assert [line.strip() for line in block] == expected


def test_a_tree_is_printed_of_what_the_checker_refuses_and_no_tree_of_broken_text(here: Path, capsys: Captured) -> None:
    assert run(["check", "bad.dcrf", "--print", "ast"]) == 0
    assert 'name: 2:7-2:10 "tga"' in capsys.readouterr().out
    for kind in ("spec", "expanded", "graph"):
        assert run(["check", "bad.dcrf", "--print", kind]) == 1
        assert capsys.readouterr().out == ""
    (here / "broken.dcrf").write_text("label tag in {\n")
    assert run(["check", "broken.dcrf", "--print", "ast"]) == 1
    assert capsys.readouterr().out == ""
