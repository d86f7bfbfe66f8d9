"""A notebook as people run it: a kernel executes it, nbconvert renders it, and a parser reads the page.

It needs `pip install nbconvert ipykernel`, which the tests do not ask for; without them it is skipped.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

WHY = "needs `pip install nbconvert ipykernel`"
nbconvert = pytest.importorskip("nbconvert", reason=WHY)
nbclient = pytest.importorskip("nbclient", reason=WHY)
nbformat = pytest.importorskip("nbformat", reason=WHY)
pytest.importorskip("ipykernel", reason=WHY)

# Those libraries warn of each other's plans.
pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("default")]

ROOT = Path(__file__).parents[2]
TEMPLATE = """%%dcrf address
data conll(word, part)
label part in bio(STREET, TOWN)
clique part: bias, word[-1..1]
clique part[-1], part
train likelihood: optimizer = lbfgs(max_iterations = 8)"""
CELLS = {
    "load": "import dcrfdsl\n%load_ext dcrfdsl",
    "magic": TEMPLATE,
    "template": "address",
    "specification": "address.spec",
    "train": """rows = [[("12", "B-STREET"), ("<b>Mill</b>", "I-STREET"), (",", "O"), ("Bath", "B-TOWN")],
        [("3", "B-STREET"), ("Oxford", "I-STREET"), ("Road", "I-STREET")]]
corpus = dcrfdsl.corpus_from_rows(rows, address.spec.data)
model = dcrfdsl.fit(address, corpus, threads=1)
model""",
    "prediction": "model.predict(corpus)",
    "record": "model.record",
    "graph": "model.explanations.unrolled(corpus, 0)",
    "unrolled": "model.graph",
    "long": """many = dcrfdsl.corpus_from_rows([[("Bath", "O"), ("Road", "O")]] * 10_000, address.spec.data)
model.predict(many, threads=1)""",
    "broken": TEMPLATE.replace("word[-1..1]", "wrod"),
    "after": "'address' in globals()",
}


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """The notebook with its outputs. Cells that fail are let pass, as the test looks at what they show."""
    made = nbformat.v4.new_notebook()
    made.cells = [nbformat.v4.new_code_cell(source, id=name) for name, source in CELLS.items()]
    folder = tmp_path_factory.mktemp("notebook")
    old = {name: os.environ.get(name) for name in ("PYTHONPATH", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR")}
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), old["PYTHONPATH"]]))
    os.environ["IPYTHONDIR"] = os.environ["JUPYTER_RUNTIME_DIR"] = str(folder)
    try:
        nbclient.NotebookClient(
            made, timeout=300, kernel_name="python3", allow_errors=True, resources={"metadata": {"path": str(folder)}}
        ).execute()
    finally:
        for name, value in old.items():
            os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)
    return made


def shown(notebook, name):
    """The last output of a cell."""
    return next(cell for cell in notebook.cells if cell.id == name).outputs[-1]


@pytest.mark.parametrize("name", ["magic", "template", "specification", "train", "prediction", "record", "graph",
                                  "unrolled", "long"])  # fmt: skip
def test_every_object_shows_itself(notebook, name):
    output = shown(notebook, name)
    assert output.output_type == "execute_result", output
    assert output.data["text/html"].startswith('<div class="dcrf">')
    assert len(output.data["text/html"]) < 60_000 and len(output.data["text/plain"]) < 1000


def test_the_magic_keeps_and_costs(notebook):
    assert "What the cliques cost" in shown(notebook, "magic").data["text/html"]
    assert "What the model costs" in shown(notebook, "template").data["text/html"]
    assert "What the model costs" in shown(notebook, "specification").data["text/html"]


def test_a_broken_cell_fails_with_its_message_alone(notebook):
    output = shown(notebook, "broken")
    assert output.output_type == "error"
    trace = "\n".join(output.traceback)
    assert "--> %%dcrf address:4:" in trace and "help:" in trace
    assert "Traceback" not in trace and "notebook_magic" not in trace
    assert shown(notebook, "after").data["text/plain"] == "False"


def test_the_page_of_nbconvert_has_every_output(notebook):
    page, _ = nbconvert.HTMLExporter().from_notebook_node(notebook)
    assert len(re.findall(r'<div class="dcrf">', page)) == 9
    assert len(re.findall(r'<svg[^>]*class="chart"', page)) >= 2 and page.count("<circle") > 10
    assert "<b>Mill</b>" not in re.sub(r"<span class=[^>]*>|</span>", "", page).partition("rows = ")[2]
    assert re.search(r"<mark class=\"h1\"><bdi>Bath</bdi> <small>TOWN</small></mark>", page)
    assert "9,980 more sentences with 19,960 tokens are left out." in page
