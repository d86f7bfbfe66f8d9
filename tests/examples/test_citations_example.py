"""`examples/citations`: how references are printed, entries of BibTeX, the files that are made of them, a whole run."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import pytest
from helpers import ROOT, example_modules

from dcrfdsl.cli import run as dcrfdsl_command

FOLDER = ROOT / "examples" / "citations"

styles, entries, run = example_modules(FOLDER, "styles", "entries", "run")

WHOLE = {"title": "Trees and Tides", "volume": "7", "number": "2", "pages": "11–19", "publisher": "Heron Press",
         "place": "Tolby", "month": "May", "year": "1998", "journal": "Letters of Aldan", "book": "Ports"}  # fmt: skip
PEOPLE = {
    "authors": [styles.Name("Ann Mara", "Berg"), styles.Name("", "Novak"), styles.Name("J.", "van Elst")],
    "editors": [styles.Name("Kim", "Orr")],
}
KINDS = ("article", "chapter", "book")
DRAWN = [styles.varied(list(styles.STYLES.values()), random.Random(seed)) for seed in range(20)]


def printed(tokens: list[object]) -> str:
    return " ".join(token.word for token in tokens)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", run.MODELS)
def test_the_templates_are_in_the_canonical_layout(name: str) -> None:
    assert dcrfdsl_command(["fmt", "--check", "--quiet", str(FOLDER / f"{name}.dcrf")]) == 0


@pytest.mark.parametrize(("style", "kind"), list(product([*styles.STYLES.values(), *DRAWN], KINDS)))
def test_each_style_prints_each_part_once_and_in_segments(style: object, kind: str) -> None:
    tokens = styles.render(styles.Entry(kind, PEOPLE, WHOLE), style)
    assert not run.repeats([token.part for token in tokens])
    for before, token in zip([styles.Token("", "O"), *tokens], tokens, strict=False):
        assert not token.part.startswith("I-") or before.part[2:] == token.part[2:], printed(tokens)
    assert {"B-AUTHOR", "B-TITLE", "B-DATE"} <= {token.part for token in tokens}


def test_what_an_entry_lacks_leaves_nothing() -> None:
    bare = styles.Entry("article", {"authors": [styles.Name("Ann", "Berg")]},
                        {"title": "Tides", "journal": "Letters", "year": "1998"})  # fmt: skip
    assert printed(styles.render(bare, styles.STYLES["by year"])) == "Berg , A . ( 1998 ) . Tides . Letters ."
    assert printed(styles.render(bare, styles.STYLES["plain"])) == "Ann Berg . Tides . Letters 1998 ."


@pytest.mark.parametrize(
    ("style", "text"),
    [
        ("plain", "Ann Mara Berg, Novak and J. van Elst"),
        ("by year", "Berg, A. M., Novak, & van Elst, J."),
        ("numbered", "Berg AM, Novak, van Elst J"),
        ("essay", "Berg, Ann Mara, Novak, and van Elst, J."),
    ],
)
def test_people(style: str, text: str) -> None:
    assert styles.STYLES[style].people(PEOPLE["authors"]) == text


def test_many_people_are_cut() -> None:
    assert styles.STYLES["numbered"].people([styles.Name("Ann", "Berg")] * 4) == "Berg A et al"


def bibliography(count: int) -> str:
    """Invented entries, the last without a year."""
    words = ("Trees", "Tides", "Ports", "Kilns", "Looms", "Wells", "Mills", "Barns")
    pairs = [f"{one} and {other}" for one, other in product(words, words) if one != other][:count]
    return "".join(
        f"@{'article' if n % 2 else 'Book'}{{key{n}, author = {{Berg, Ann and {{\\'E}}mile de {words[n % 8]}}}, "
        f"title = {{{{{title}}} of\n {n}}}, journal = {{Letters of {words[n % 3]}}}, "
        f"publisher = {{Heron {words[n % 5]}}}, "
        f"address = {{{words[n % 7]}by}}, pages = {{{n}--{n + 5}}}"
        + (f", year = {1950 + n}" if n < count - 1 else "")
        + "}\n"
        for n, title in enumerate(pairs)
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    pytest.importorskip("bibtexparser")
    path = tmp_path / "mine.bib"
    path.write_text(bibliography(31), encoding="utf-8")
    return path


def test_entries_are_read_without_tex(file: Path) -> None:
    found = entries.entries_of(file)
    assert len(found) == 30
    assert found[1].kind == "article"
    assert found[1].fields["title"] == "Trees and Ports of 1"
    assert found[1].fields["pages"] == "1–6"
    assert found[1].people["authors"] == [("Ann", "Berg"), ("Émile", "de Tides")]
    assert entries.without_doubles([*found, *found]) == found


def test_the_parts_of_the_data_share_no_entry(file: Path, tmp_path: Path) -> None:
    found = entries.entries_of(file)
    data = run.write_data(found, tmp_path / "out", seed=3)
    training, known, new = (path.read_text(encoding="utf-8") for path in data)
    for number in range(30):
        assert not (f"\n{number} I-TITLE\n" in training and f"\n{number} I-TITLE\n" in known + new)
    assert run.write_data(found, tmp_path / "again", seed=3).train.read_text(encoding="utf-8") == training
    assert "Heron " in (tmp_path / "out" / "publishers.txt").read_text(encoding="utf-8")


def test_files_without_entries_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("bibtexparser")
    (tmp_path / "none.bib").write_text("no entry")
    with pytest.raises(SystemExit, match="has no entry of BibTeX"):
        run.main(["--bib", str(tmp_path / "none.bib"), "--out", str(tmp_path / "out")])
    assert not (tmp_path / "out").exists()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dcrfdsl.DcrfWarning")
def test_a_whole_run(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["--bib", str(file), "--out", str(tmp_path / "out"), "--threads", "1"]) == 0
    output = capsys.readouterr().out
    assert [line.split()[-1] for line in output.splitlines() if line.startswith("reference ")] == ["0", "0"]
    assert (tmp_path / "out" / "errors.html").exists()
