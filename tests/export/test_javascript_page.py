"""Pages of exported taggers in a browser without a window: labels and probabilities of the model, words as words."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import quote

import pytest
from test_programs import MODELS, trained

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.export import export_tagger
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
EVIL = "</script><b>x"


def town_model() -> TrainedModel:
    """Also of words that would end a script."""
    text = "data conll(word, part)\nlabel part in bio(STREET, TOWN)\nclique part: word, lower(word)\n"
    resolved = load_text(f"{text}clique part[-1], part\ntrain likelihood: optimizer = lbfgs(max_iterations = 20)")
    street = [("9", "B-STREET"), ("Bath", "I-STREET"), ("Lane", "I-STREET"), (",", "O"), ("York", "B-TOWN")]
    rows = [street, [("</script>", "O"), ("<!--", "B-TOWN"), ("<script>", "O")]]
    return fit(resolved, corpus_from_rows(rows, resolved.require().data), threads=1)


def shown(page: Path, text: str) -> str:
    """The results of a page for a text, as HTML."""
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom"]
    done = subprocess.run([*command, f"{page.as_uri()}#{quote(text)}"], capture_output=True, timeout=120)
    found = re.search(r'<div id="results".*?>(.*?)</div>', done.stdout.decode(), re.DOTALL)
    assert found is not None, done.stderr.decode()
    return found[1]


@needs_browser
def test_a_page_shows_the_segments_that_tag_finds(tmp_path: Path) -> None:
    model = town_model()
    page = export_tagger(model, tmp_path / "town.html").program
    text = f"9 Bath Lane, York\nYork {EVIL}"
    found = shown(page, text)
    pattern = r'<mark class="[^"]*">(.*?)<small class=""><b class="">(.*?)</b> (.*?) %</small></mark>'
    marked = [(html.unescape(words), kind, float(chance)) for words, kind, chance in re.findall(pattern, found)]
    assert [one[:2] for one in marked[:3]] == [("9 Bath Lane", "STREET"), ("York", "TOWN"), ("York", "TOWN")]
    (first,) = model.tag_all([["9", "Bath", "Lane", ",", "York"]])
    assert first == ["B-STREET", "I-STREET", "I-STREET", "O", "B-TOWN"]
    assert all(0 < chance <= 100 for *_, chance in marked) and "<b>x" not in found
    assert re.sub(r"<small.*?</small>|<.*?>", "", found).startswith("9 Bath Lane, York")


@needs_browser
def test_a_page_of_several_columns_and_labels(tmp_path: Path) -> None:
    model = trained(MODELS["factorial"])
    page = export_tagger(model, tmp_path / "both.html").program
    found = shown(page, "a N\nb V\n\nc D")
    tokens = re.findall(r'<span class="token [^"]*">(.*?)<small class=""><b class="">(.*?)</b>', found)
    both = [model.tag({"word": list(words), "pos": list(pos)}) for words, pos in (("ab", "NV"), ("c", "D"))]
    wanted = [(word, state) for one, words in zip(both, ("ab", "c"), strict=True) for label in ("y", "z")
              for word, state in zip(words, one[label], strict=True)]  # fmt: skip
    assert tokens == wanted
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom"]
    done = subprocess.run([*command, f"{page.as_uri()}#a"], capture_output=True, timeout=120)
    assert "found a token of 1 values, expected 2 (`word pos`)" in done.stdout.decode()


def test_a_page_asks_for_nothing_and_no_word_ends_its_script(tmp_path: Path) -> None:
    page = export_tagger(town_model(), tmp_path / "town.html").program.read_text(encoding="utf-8")
    assert page.count("<script") == page.count("</script>") == 1 and "<!--" not in page
    assert "default-src 'none'" in page and not re.search(r"(src|href)=|url\(|https?://(?!github.com/google)", page)
    assert "{{" not in page.split("<script")[0]
