"""`%%dcrf`: a cell is checked as the command checks, and kept, or the cell fails. Here with a shell of our own."""

from __future__ import annotations

import pytest
from notebook_cases import Output, read_output

import dcrfdsl
from dcrfdsl import feature, load_text
from dcrfdsl.cli.notebook_magic import LineError, TemplateErrors
from dcrfdsl.semantics import Resolved

GOOD = "data conll(word, t)\nlabel t in {A, B}\nclique t: bias, word\nclique t[-1], t\n"
BAD = GOOD.replace("bias, word", "bias, wrod")


class Formatter(dict):
    """As IPython's formatter of HTML: functions by the module and name of a type."""

    def for_type_by_name(self, module, name, function):
        self[f"{module}.{name}"] = function

    def __call__(self, shown):
        kind = type(shown)
        return self[f"{kind.__module__}.{kind.__name__}"](shown)


class Shell:
    """What `%load_ext` uses of IPython's."""

    def __init__(self):
        self.user_ns = {}
        self.html = Formatter()
        self.display_formatter = type("Display", (), {"formatters": {"text/html": self.html}})()
        self.magics_manager = type("Magics", (), {"magics": {"cell": {}}})()

    def register_magic_function(self, function, magic_kind, magic_name):
        self.magics_manager.magics[magic_kind][magic_name] = function

    def cell(self, line, cell):
        return self.magics_manager.magics["cell"]["dcrf"](line, cell)


@pytest.fixture
def shell():
    made = Shell()
    dcrfdsl.load_ipython_extension(made)
    return made


def test_a_good_cell_is_kept_and_shows_its_costs(shell):
    found = shell.cell("chunker", GOOD)
    kept = shell.user_ns["chunker"]
    assert isinstance(kept, Resolved) and kept.spec == load_text(GOOD).spec
    words = read_output(found).words
    assert "The template is kept as chunker ." in words
    assert "t[-1], t 2 × 2 4" in words and "one sweep" in words
    assert "kept as `chunker`" in repr(found) and "t[-1], t: 2 × 2 states, 4 entries" in repr(found)


def test_a_cell_without_a_name_is_checked_only(shell):
    assert "no errors" in repr(shell.cell("", GOOD))
    assert shell.user_ns == {}


def test_a_bad_cell_fails_with_line_and_remedy_and_takes_the_name_away(shell):
    shell.cell("chunker", GOOD)
    with pytest.raises(TemplateErrors) as caught:
        shell.cell("chunker", BAD)
    assert "chunker" not in shell.user_ns
    shown = "\n".join(caught.value._render_traceback_())
    assert "--> %%dcrf chunker:4:17" in shown  # the line of the magic is the first
    assert "did you mean `word`" in shown and "1 error in the template" in shown


def test_other_values_of_that_name_stay_where_a_cell_fails(shell):
    shell.user_ns["chunker"] = 7
    with pytest.raises(TemplateErrors):
        shell.cell("chunker", BAD)
    assert shell.user_ns["chunker"] == 7


def test_settings_and_stages(shell):
    text = GOOD + "train likelihood as one\ntrain likelihood as two after one\n"
    shell.cell("m --set train.seed=7 --stage one", text)
    assert "seed = 7" in dcrfdsl.to_text(shell.user_ns["m"].spec).partition("as two")[0]


def test_with_data_the_table_is_complete(shell, tmp_path):
    path = tmp_path / "a b.txt"
    path.write_text("x A\ny B\n\ny A\n\n")
    words = read_output(shell.cell(f"m --data '{path}'", GOOD)).words
    assert "2 sentences, 3 tokens" in words


def test_functions_of_the_notebook_are_known(shell):
    text = GOOD.replace("bias, word", "bias, vowels(word)")
    with pytest.raises(TemplateErrors, match="vowels"):
        shell.cell("m", text)

    @feature
    def vowels(word: str) -> str:
        return word

    shell.user_ns["vowels"] = vowels
    assert "kept" in repr(shell.cell("m", text))


@pytest.mark.parametrize("line", ["two words", "1st", "class", "m --stage", "m --colour red", "'m"])
def test_a_line_that_cannot_be_read_says_how_to_write_it(shell, line):
    with pytest.raises(LineError) as caught:
        shell.cell(line, GOOD)
    assert "write `%%dcrf NAME`" in "\n".join(caught.value._render_traceback_())


def test_a_file_that_is_not_there(shell):
    with pytest.raises(TemplateErrors, match=r"no\.txt"):
        shell.cell("m --data no.txt", GOOD)


def test_templates_show_their_costs_once_the_extension_is_loaded(shell):
    m = dcrfdsl.Template()
    m.data("conll", "word", "t")
    m.clique(m.label("t", ["A", "B"]))
    for shown in (load_text(GOOD), load_text(GOOD).spec, m):
        assert "What the cliques cost" in Output(shell.html(shown)).words
    assert "What the cliques cost" not in Output(shell.html(load_text(BAD))).words
    missing = load_text('data conll(word, t)\nlabel t in states("no.txt")\nclique t: word')
    assert "no.txt" in Output(shell.html(missing)).words


def test_unloading_takes_everything_back(shell):
    dcrfdsl.unload_ipython_extension(shell)
    assert shell.html == {} and shell.magics_manager.magics == {"cell": {}}


def test_star_imports_leave_the_extension_alone():
    assert not any("ipython" in name for name in dcrfdsl.__all__)
