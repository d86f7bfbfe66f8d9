"""Fixes of problems, changes of form, the layout: each is applied, and the result checked again."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from editor_cases import BASE, CURSOR, PATH, applied, applied_action, marked, names_of, workspace

from dcrfdsl.language_server.answers import CodeAction
from dcrfdsl.language_server.code_actions import quick_fixes, refactorings
from dcrfdsl.language_server.template_index import Template, Workspace, states_of
from dcrfdsl.language_server.template_problems import Analysis, problems_of, readable
from dcrfdsl.language_server.whole_text import layout_edits
from dcrfdsl.semantics import expanded, load_text
from dcrfdsl.syntax import format_template, parse

BAD = sorted((Path(__file__).parents[1] / "language" / "bad").rglob("*.dcrf"))
LONGEST = 20_000
# Files with the same mistake twice, so that it is still there when one of them is corrected.
TWICE = {"unknown_column.dcrf", "misspelt-word.dcrf", "guides.dcrf"}


def analysed(text: str, path: Path = PATH) -> tuple[Template, Analysis]:
    return Template.of(path, text), problems_of(path, text, workspace())


def slugs(analysis: Analysis) -> Counter[str]:
    return Counter(one.diagnostic.slug for found in analysis.problems.values() for one in found)


def fixes(text: str) -> dict[str, str]:
    """The text after each fix, by its title."""
    template, analysis = analysed(text)
    found = [action for one in analysis.problems[PATH] for action in quick_fixes(template, one)]
    return {action.title: applied_action(template, action) for action in found}


@pytest.mark.parametrize("folder", sorted({path.parent.name for path in BAD}))
def test_a_fix_removes_its_problem(folder: str) -> None:
    """Of every bad example of the language."""
    tried = 0
    for path in (one for one in BAD if one.parent.name == folder and one.stat().st_size < LONGEST):
        text = path.read_text(encoding="utf-8")
        template, analysis = analysed(text, path)
        for problem in analysis.problems.get(path, ()):
            for action in quick_fixes(template, problem):
                tried += 1
                after = slugs(analysed(applied_action(template, action), path)[1])
                slug = problem.diagnostic.slug
                assert after[slug] < slugs(analysis)[slug] or path.name in TWICE, (path.name, action.title)
    assert tried or folder not in ("names", "syntax", "training")


FIXED = {
    "data conll(word, y)\nlabel y in {A, B}\nclique y: wrd": ("Write `word`", "clique y: word"),
    "data conll(word, y)\nlabel y in {A, B}\nclique y: word\ntrain likelihood: prior = gausian": (
        "Write `gaussian`", "prior = gaussian",
    ),
    "data conll(word, y)\nlable y in {A, B}\nclique y: word": ("Write `label`", "label y in {A, B}"),
    "data conll(word, y)\nlabel y in {A, B}\nclique y:\n\tword": ("Replace tabs by blanks", "clique y:\n    word"),
    "data conll(word, y)\nlabel y in {A, B}\nclique y: cap": ("Add the column `cap` to `data`", "(word, y, cap)"),
    "data conll(word, y)\nlabel y in {A, B}\nclique y: form2": (
        "Declare the feature group `form2`", "features form2: bias\nclique y: form2",
    ),
    "data conll(word, y)\nlabel y in {A, B}\n## Why.\nclique y: word in towns": (
        "Declare the lexicon `towns`", 'lexicon towns = "towns.txt"\n## Why.\nclique y: word in towns',
    ),
    "data conll(word, y)\nlabel z in {A, B}\nclique z: word": ("Add the column `z` to `data`", "(word, y, z)"),
    "data conll(word, y)\nclique y: word": ("Declare the label `y`", "(word, y)\nlabel y\n"),
}  # fmt: skip


@pytest.mark.parametrize("text", FIXED)
def test_fixes(text: str) -> None:
    title, words = FIXED[text]
    found = fixes(text)
    assert title in found, found
    assert words in found[title]


def changes(text: str, until: str = CURSOR) -> tuple[Template, list[CodeAction]]:
    template, offset = marked(text)
    _, analysis = analysed(template.text)
    found = refactorings(template, offset, offset, names_of(template), analysis.resolved)
    return template, list(found)


def test_extract_all_features_of_a_clique() -> None:
    text = BASE + "clique chunk[-1], chunk as pair: word, ▌pos[-1..1], (word is a or pos is DT)\n"
    template, found = changes(text)
    assert [one.title for one in found] == ["Extract the feature group `group1`"]
    after = applied_action(template, found[0])
    group = "features group1: word, pos[-1..1], (word is a or pos is DT)\n"
    assert f"{group}clique chunk[-1], chunk as pair: group1\n" in after
    assert slugs(analysed(after)[1]) == slugs(analysed(template.text)[1])


def test_extract_the_selected_features() -> None:
    text = BASE + "# why\nclique chunk[-1], chunk as pair:\n    bias,\n    word,\n    pos\n"
    template = Template.of(PATH, text)
    start, end = text.index("word,\n    pos"), text.rindex("pos") + 3
    (action,) = refactorings(template, start, end, names_of(template), None)
    assert applied_action(template, action) == text.replace("# why", "features group1: word, pos\n# why").replace(
        "word,\n    pos", "group1"
    )


@pytest.mark.parametrize(
    "statement",
    [
        "clique chunk[i], chunk[j] as far:\n    where word[i] = word[j]\n    ▌word[i-1], pos[i]",
        "clique chunk: ▌bias, word",
        "features more: ▌word, pos",
    ],
)
def test_features_that_no_group_can_hold_stay(statement: str) -> None:
    assert changes(BASE + statement)[1] == []


NAMED = "data conll(word, chunk)\nlabel chunk in {A, B}\nclique chunk as here: word\nclique chunk[-1], chunk as pair\n"


CRITERIA = ("memm", "pseudolikelihood", "pwpl", "bidirectional", "piecewise", "memm(by = slice)")


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_shorthand_is_written_out(criterion: str) -> None:
    """As `dcrfdsl check --expand` has it."""
    template, found = changes(NAMED + f"train ▌{criterion} as stage: seed = 3\n")
    (action,) = found
    after = load_text(applied_action(template, action))
    assert not after.diagnostics
    assert after.spec == expanded(load_text(template.text).spec)


def test_pieces_need_named_cliques() -> None:
    assert changes(NAMED.replace(" as pair", "") + "train ▌memm\n")[1] == []
    assert changes(NAMED + "train ▌likelihood\n")[1] == []
    assert changes(NAMED + "piece one over chunk: here\ntrain ▌piecewise(one)\n")[1] == []


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_layout_is_that_of_fmt(end: str) -> None:
    text = "data   conll( word,y )\n# why\nlabel y in {A,B}\n\n\n\nclique y:word   # end\n"
    changed = applied(text.replace("\n", end), layout_edits(text.replace("\n", end)))
    assert changed == format_template(parse(text)).replace("\n", end)
    assert layout_edits(changed) == ()


def test_a_broken_text_is_left_alone() -> None:
    assert layout_edits("data   conll(word, y)\nlabel y in {A,,\n") == ()


def test_only_lines_that_change_are_edited() -> None:
    text = "dcrf 1\ndata conll(word, y)\nlabel  y\nclique y: word\n"
    (edit,) = layout_edits(text)
    assert text[edit.start : edit.end] == "label  y\n"


def test_problems_go_to_their_files() -> None:
    base = Path("/templates/base.dcrf")
    files = {base: "data conll(word, y)\nlabel y in {A, A}\nlabel = 3\n"}
    text = 'use "base.dcrf"\nclique y: wrd\n'
    found = problems_of(PATH, text, workspace(files))
    assert [one.diagnostic.slug for one in found.problems[PATH]] == ["unknown-name"]
    assert {"state-twice"} < {one.diagnostic.slug for one in found.problems[base]}
    assert found.texts == {PATH: text, **files}


def test_pipes_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.dcrf")
    text = 'use "pipe.dcrf"\nlabel y in "pipe.dcrf"\n'
    path = tmp_path / "a.dcrf"
    found = problems_of(path, text.partition("\n")[0], Workspace(readable))
    assert "no-file" in [one.diagnostic.slug for one in found.problems[path]]
    template = Template.of(path, text)
    assert states_of("y", names_of(template), {}) == ()


def test_a_text_that_is_no_template_has_its_problem_alone() -> None:
    text = "the DT B-NP\n" * 20_000
    template, analysis = analysed(text)
    assert template.statements == ()
    assert list(slugs(analysis)) == ["no-template"]
