"""Declarations, uses and new names; the outline and hover."""

from __future__ import annotations

from pathlib import Path

import pytest
from editor_cases import BASE, CURSOR, PATH, applied, marked, names_of, workspace

from dcrfdsl.language_server.answers import Refused
from dcrfdsl.language_server.data_costs import NO_COSTS, CliqueCost, CostReport
from dcrfdsl.language_server.hover import hover, signature
from dcrfdsl.language_server.name_navigation import definitions, name_at, references, rename
from dcrfdsl.language_server.whole_text import colours, folds, symbols
from dcrfdsl.semantics import check, load_text

WHOLE = BASE + (
    "clique chunk[-1], chunk as pair\n"
    "clique chunk[i], chunk[j] as far:\n    where word[i] = word[j]\n    word[i-1]\n"
    "piece both over chunk: here, pair\n"
    "train piecewise(both) as first: prior = gaussian(variance = extent), prior.pair = none\n"
    "train likelihood as second after first\n"
    "evaluate segments(chunk)\n"
)


def places(text: str, declarations: bool = True) -> list[tuple[int, str]]:
    """The line of each reference, with its text."""
    template, offset = marked(text)
    names = names_of(template)
    found = name_at(template, offset, names)
    assert found is not None
    spots = references(found, names, [template], declarations)
    return [(template.text.count("\n", 0, spot.start) + 1, template.text[spot.start : spot.end]) for spot in spots]


def renamed(text: str, new: str) -> str:
    template, offset = marked(text)
    return applied(template.text, rename(template, offset, new, names_of(template), [template]).get(PATH, ()))


def mark(before: str, nth: int = 1) -> str:
    """`WHOLE` with the cursor before the nth occurrence."""
    place = -1
    for _ in range(nth):
        place = WHOLE.index(before, place + 1)
    return WHOLE[:place] + CURSOR + WHOLE[place:]


LINES_OF = {
    "extent": [4, 13], "form": [6, 7], "days": [3], "here": [7, 12], "pair": [8, 12, 13],
    "both": [12, 13], "first": [13, 14], "word[i] =": [1, 6, 6, 10, 10, 11],
    "chunk as": [1, 2, 7, 8, 8, 9, 9, 12, 15],
}  # fmt: skip


@pytest.mark.parametrize("name", LINES_OF)
def test_every_place_of_a_name(name: str) -> None:
    assert [line for line, _ in places(mark(name))] == LINES_OF[name]


def test_the_positions_of_a_clique_are_its_own() -> None:
    found = places(mark("i] = word"))
    assert found == [(9, "i"), (10, "i"), (11, "i")]


def test_definition_of_a_label_is_its_statement_and_its_column() -> None:
    template, offset = marked(mark("chunk as here"))
    found = definitions(template, offset, names_of(template))
    assert [template.text.count("\n", 0, spot.start) for spot in found] == [0, 1]


def test_definition_in_a_used_file(tmp_path: Path) -> None:
    base = tmp_path / "base.dcrf"
    base.write_text("data conll(word, y)\nlabel y in {A, B}\n")
    files = {base.resolve(): base.read_text()}
    template, offset = marked(f'use "base.dcrf"\nclique {CURSOR}y: word', tmp_path / "a.dcrf")
    found = definitions(template, offset, workspace(files).names(template))
    assert [spot.path for spot in found] == [base.resolve()] * 2
    template, offset = marked(f'use "ba{CURSOR}se.dcrf"', tmp_path / "a.dcrf")
    assert [spot.path for spot in definitions(template, offset, workspace(files).names(template))] == [base]


@pytest.mark.parametrize("name", ["extent", "form", "days", "here", "pair", "both", "first", "chunk as", "pos", "i] ="])
def test_a_new_name_keeps_the_meaning(name: str) -> None:
    """The template has the same problems as before, and the old name is gone."""
    slugs = [one.slug for one in check(load_text(WHOLE))]
    text = renamed(mark(name), "zz")
    old = name.partition(" ")[0].partition("]")[0]
    assert [one.slug for one in check(load_text(text))] == slugs
    assert old not in [use.name for _, use in marked(text + CURSOR)[0].uses()]
    assert renamed(text.replace("zz", f"{CURSOR}zz", 1), old) == WHOLE


def test_a_column_that_is_found_by_its_name_is_read_under_the_old_one() -> None:
    text = "data jsonl(word, y)\nlabel y in {A, B}\nclique y: ▌word"
    assert renamed(text, "token").startswith("data jsonl(token = word, y)")
    assert renamed("data csv(▌w = word, y)", "token") == "data csv(token = word, y)"
    with pytest.raises(Refused, match="under this name"):
        renamed("data jsonl(▌marks: bag, y)", "others")


def test_a_label_is_renamed_where_its_scores_are_declared() -> None:
    text = "data conll(word, s: scores(tag, tag), tag)\nlabel ▌tag in bio(PER)\nclique tag[-1], tag: offset(s)\n"
    assert renamed(text, "y") == text.replace("▌", "").replace("tag", "y")


@pytest.mark.parametrize(
    ("new", "words"),
    [("2a", "is no name"), ("a b", "is no name"), ("", "is no name"), ("and", "word of the language"),
     ("word", "already declared, as a column"), ("here", "already declared, as a clique"),
     ("bias", "is a feature function"), ("yes", "is a value of settings")],
)  # fmt: skip
def test_names_that_cannot_be_taken(new: str, words: str) -> None:
    with pytest.raises(Refused, match=words):
        renamed(mark("form"), new)


def test_what_has_no_name_is_not_renamed() -> None:
    for place in ("lower", "conll", "piecewise(", "features"):
        with pytest.raises(Refused):
            renamed(mark(place), "zz")
    with pytest.raises(Refused, match="as NAME"):
        renamed("train ▌likelihood", "zz")


def test_unfinished_statements_still_have_their_names() -> None:
    assert places(BASE + "clique chunk: ▌form &") == [(6, "form"), (7, "form"), (8, "form")]


# hover, signatures, outline, colours ------------------------------------------------------------------------------


def hovered(text: str, costs: CostReport = NO_COSTS) -> str:
    template, offset = marked(text)
    found = hover(template, offset, workspace(registered=["own"]), costs)
    return "" if found is None else found.markdown


HOVERED = {
    "clique chunk as": "Which variables depend on each other",
    "lower": "**lower** · feature function",
    "conll": "**conll** · data format",
    "form,": "",
    "piecewise(": "**piecewise** · training criterion",
    "prior =": "**prior** · ",
    "gaussian": "**gaussian** · prior",
    "variance =": "**variance** · number, ≥ 1e-12, ≤ 1e12, default 10",
    "segments": "**segments** · metric",
    "extent": "let extent = 5",
}


@pytest.mark.parametrize("place", [place for place, words in HOVERED.items() if words])
def test_hover_says_what_explain_says(place: str) -> None:
    assert HOVERED[place] in hovered(mark(place))


def test_hover_of_a_name_has_its_comment_and_states() -> None:
    assert "What a word looks like." in hovered(mark("form\n"))
    assert "5 states: `B-NP`" in hovered(mark("chunk as here"))
    assert "a feature function of your own" in hovered(BASE + "clique chunk: ▌own(word)")


def test_hover_of_a_clique_has_its_cost() -> None:
    costs = CostReport("train.txt", {}, {"pair": CliqueCost("5 × 5", 25, 25)})
    assert "5 × 5 states, 25 entries, 25 weights, by `train.txt`" in hovered(mark("pair"), costs)


@pytest.mark.parametrize(
    ("tail", "title"),
    [
        ("segment chunk u▌p to 5: word", "**segment**"), ("once chunk exc▌ept {O}", "**once**"),
        ("forbid chunk is O wh▌en word is x", "**forbid**"), ("label z in {A, B} for sen▌tence", "**label**"),
        ("lexicon d = \"x.txt\" with case = ign▌ore", "**case**"), ("train likelihood as a af▌ter b", "**train**"),
        ("infer g▌bp(regions = 3)", "**gbp**"), ("infer e▌p", "**ep**"), ("decode cer▌tified", "**certified**"),
        ("decode opt▌imal", "**optimal**"), ("clique chunk: bi▌n(word, 2)", "**bin**"),
        ("clique chunk: pa▌rt(word, 1)", "**part**"), ("train likelihood: imp▌ortance = states", "**importance**"),
        ("train likelihood: prior = group_▌lasso(strength = 1)", "**group_lasso**"),
    ],
)  # fmt: skip
def test_hover_of_every_word_of_a_clause(tail: str, title: str) -> None:
    template, offset = marked(BASE + tail)
    found = hover(template, offset, workspace(), NO_COSTS)
    assert found is not None and found.markdown.startswith(title)


def test_nothing_is_known_of_a_comment() -> None:
    assert hovered(f"# lab{CURSOR}el") == ""


@pytest.mark.parametrize(
    ("tail", "label", "active"),
    [
        ("clique chunk: suffix(word, ▌", "suffix(term, lengths)", 1),
        ("clique chunk: suffix(▌", "suffix(term, lengths)", 0),
        ("train likelihood: prior = gaussian(mean = ▌", "gaussian(variance = 10, mean = zero)", 1),
        ("train likelihood: prior = gaussian(lower(▌", "lower(term)", 0),
    ],
)
def test_signatures(tail: str, label: str, active: int) -> None:
    found = signature(*marked(BASE + tail))
    assert found is not None
    assert (found.label, found.active) == (label, active)
    for start, end, words in found.parameters:
        assert found.label[start:end].partition(" ")[0].isidentifier()
        assert words


def test_no_signature_outside_brackets() -> None:
    assert signature(*marked(mark("chunk as here"))) is None


def test_outline() -> None:
    found = symbols(marked(WHOLE + "clique chunk: (▌")[0])
    assert [one.name for one in found] == [
        "conll(word, pos, chunk)", "chunk", "days", "extent", "form", "here", "pair", "far", "both", "first", "second",
        "segments(chunk)", "chunk",
    ]  # fmt: skip
    assert [child.name for child in found[0].children] == ["word", "pos", "chunk"]
    for one in found:
        assert one.start <= one.name_start <= one.name_end <= one.end


def test_folds() -> None:
    template, _ = marked("# a\n# b\n\n" + WHOLE + CURSOR)
    found = [(fold.kind, template.text[fold.start : fold.end].partition("\n")[0]) for fold in folds(template)]
    assert found == [("region", "clique chunk[i], chunk[j] as far:"), ("comment", "# a")]


def test_colours() -> None:
    template, _ = marked(
        "## doc\ndata conll(word, y) # end\nlabel y in {A, B-x}\nforbid y is not A and word matches /a#/▌"
    )
    found = [
        (template.text[one.start : one.end], one.kind, one.declares) for one in colours(template, names_of(template))
    ]
    assert ("## doc", "comment", False) in found
    assert ("# end", "comment", False) in found
    assert ("word", "parameter", True) in found
    assert ("word", "parameter", False) in found
    assert ("y", "variable", True) in found
    assert ("B-x", "enumMember", False) in found
    assert ("/a#/", "regexp", False) in found
    assert [text for text, kind, _ in found if kind == "keyword"] == [
        "data", "label", "in", "forbid", "is", "not", "and", "matches",
    ]  # fmt: skip
