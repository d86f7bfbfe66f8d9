"""Messages as a newcomer meets them: one for one mistake, and whoever writes what it says gets a template that checks.

Mistakes of people who come from CRF++, CRFsuite, Wapiti, scikit-learn, Python and others. `test_check` has the golden
files of all messages; here they are obeyed.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from dcrfdsl.cli import COMMANDS, run
from dcrfdsl.foundation.errors.diagnostics import Diagnostic, Span
from dcrfdsl.semantics.checks.checker import check
from dcrfdsl.semantics.resolve.resolution import load_text

HEAD = "data conll(word, pos, chunk)\nlabel chunk in bio(PER)\n"
BODY = "clique chunk: word\nclique chunk[-1], chunk\n"
WHOLE = HEAD + BODY


def errors(text: str) -> list[Diagnostic]:
    return [found for found in check(load_text(text, "a.dcrf")) if found.severity == "error"]


def quoted(problem: Diagnostic) -> str:
    """The last text in backquotes that the help offers behind `write` or `did you mean`."""
    found = re.findall(r"(?:write|did you mean|read a label:) `([^`]*)`", problem.help or "")
    assert found, problem.help
    return found[0]


def replaced(text: str, span: Span, new: str) -> str:
    return text[: span.start] + new + text[span.end :]


# How a remedy is followed ---------------------------------------------------------------------------------------------


def in_place(text: str, problem: Diagnostic) -> str:
    """What is pointed at becomes what the help says."""
    assert problem.primary is not None
    return replaced(text, problem.primary.span, quoted(problem))


def whole_line(text: str, problem: Diagnostic) -> str:
    assert problem.primary is not None
    lines = text.split("\n")
    lines[problem.primary.span.line - 1] = quoted(problem)
    return "\n".join(lines)


def as_test(text: str, problem: Diagnostic) -> str:
    return text.replace('word = "x"', quoted(problem))


def settings(text: str, problem: Diagnostic) -> str:
    """Every setting that is pointed at goes, and what the help says comes in their place."""
    assert problem.primary is not None
    new = quoted(problem)
    key = new.partition(" = ")[0]
    gone = {label.span.line for label in (problem.primary, *problem.secondary)}
    lines = [
        line
        for number, line in enumerate(text.split("\n"), 1)
        if number not in gone and not line.startswith(f"    {key} =")
    ]
    at = next(n for n, line in enumerate(lines) if line.startswith("train"))
    return "\n".join([*lines[: at + 1], f"    {new}", *lines[at + 1 :]])


def indented(text: str, problem: Diagnostic) -> str:
    assert problem.primary is not None
    lines = text.split("\n")
    blanks = re.search(r"([0-9]+) blanks", problem.help or "")
    assert blanks is not None
    places = [label.span.line for label in (problem.primary, *problem.secondary) if label.text != "opens the block"]
    for number in places:
        lines[number - 1] = " " * int(blanks[1]) + lines[number - 1]
    return "\n".join(lines)


def declared_above(text: str, problem: Diagnostic) -> str:
    """The statement that the help names, on a line of its own below `data`."""
    statement = re.search(r"`(label \w+)`", problem.help or "")
    assert statement is not None
    data, rest = text.split("\n", 1)
    return f"{data}\n{statement[1]}\n{rest}"


def stage(*lines: str) -> str:
    return WHOLE + "train likelihood:\n" + "".join(f"    {line}\n" for line in lines)


Follow = Callable[[str, Diagnostic], str]

# A template with one mistake, the slug of its one message, and how its remedy is followed.
OBEYED: dict[str, tuple[str, str, Follow | None]] = {
    # settings of other tools
    "CRFsuite's L1": (stage("c1 = 0.1"), "unknown-setting", settings),
    "CRFsuite's L2": (stage("c2 = 0.1"), "unknown-setting", settings),
    "CRFsuite's elastic net": (stage("c1 = 0.1", "c2 = 0.01"), "unknown-setting", settings),
    "Wapiti's penalties": (stage("rho1 = 0.5", "rho2 = 0.0001"), "unknown-setting", settings),
    "CRF++'s C": (stage("C = 4"), "unknown-setting", settings),
    "a standard deviation": (stage("sigma = 3"), "unknown-setting", settings),
    "a variance": (stage("variance = 3"), "unknown-setting", settings),
    "a penalty beside a prior": (stage("c2 = 1", "prior = laplace"), "unknown-setting", settings),
    "a penalty of nothing": (stage("alpha = 0"), "unknown-setting", settings),
    "a penalty by name": (stage("penalty = l1"), "unknown-setting", settings),
    "a regularization": (stage("reg = 0.1"), "unknown-setting", settings),
    "scikit-learn's iterations": (stage("max_iter = 100"), "unknown-setting", settings),
    "an optimizer's own setting": (stage("max_iterations = 100"), "unknown-setting", settings),
    "iterations and tolerance": (stage("maxiter = 100", "tol = 1e-3"), "unknown-setting", settings),
    "iterations beside an optimizer": (stage("optimizer = cg", "max_iter = 9"), "unknown-setting", settings),
    "iterations beside epochs": (stage("optimizer = sgd(rate = 1)", "max_iter = 9"), "unknown-setting", settings),
    "a learning rate": (stage("learning_rate = 0.1"), "unknown-setting", settings),
    "a rate and epochs": (stage("lr = 0.1", "n_epochs = 5"), "unknown-setting", settings),
    "a rate beside L1": (stage("prior = laplace", "lr = 0.1"), "unknown-setting", settings),
    "a stopping threshold": (stage("eps = 1e-3"), "unknown-setting", settings),
    "an algorithm": (stage("algorithm = lbfgs", "max_iterations = 20"), "unknown-setting", settings),
    "a solver": (stage("solver = saga"), "unknown-setting", settings),
    "a damping": (stage("damping = 0.5"), "unknown-setting", settings),
    "iterations of the optimizer": (stage("optimizer = lbfgs(max_iter = 5)"), "unknown-setting", in_place),
    "epochs of L-BFGS": (stage("optimizer = lbfgs(epochs = 5)"), "unknown-setting", in_place),
    "a rate of SGD": (stage("optimizer = sgd(learning_rate = 0.1)"), "unknown-setting", in_place),
    "iterations of SGD": (stage("optimizer = sgd(max_iter = 3)"), "unknown-setting", in_place),
    "iterations of messages": (WHOLE + "infer trp(max_iter = 3)\n", "unknown-setting", in_place),
    "a seed": (stage("random_state = 1"), "unknown-setting", in_place),
    "early stopping": (stage("early_stopping = 3"), "unknown-setting", in_place),
    "a rare feature": (HEAD + "features f with cutoff = 2: word\nclique chunk: f\n", "unknown-setting", in_place),
    # what stands in place of a method
    "a number as a prior": (stage("prior = 10"), "bad-setting", in_place),
    "a metric's other name": (WHOLE + "evaluate f1\n", "unknown-metric", in_place),
    "a metric of nothing": (WHOLE + "evaluate accuracy\n", "bad-argument", in_place),
    "a decoder's other name": (WHOLE + "decode viterbi\n", "unknown-method", in_place),
    "a criterion's other name": (WHOLE + "train crf\n", "unknown-method", in_place),
    "an optimizer as a criterion": (WHOLE + "train lbfgs\n", "unknown-method", whole_line),
    "a setting as a statement": (WHOLE + "optimizer = lbfgs(memory = 5)\n", "unknown-statement", whole_line),
    "a prior as a statement": (WHOLE + "prior gaussian(variance = 1)\n", "unknown-statement", whole_line),
    "commas": ("data excel(word, chunk)\nlabel chunk\nclique chunk: word\n", "unknown-format", in_place),
    # layout
    "a line in column 0": (HEAD + "features f:\n    word\npos\nclique chunk: f\n", "unindented-line", indented),
    "a block that is not": (HEAD + "features f:\nword\nlower(word)\nclique chunk: f\n", "unindented-line", indented),
    "settings that are not": (WHOLE + "train likelihood:\nprior = none\ninfer = trp\n", "unindented-line", indented),
    "metrics that are not": (WHOLE + "evaluate:\n  accuracy(chunk)\nsegments(chunk)\n", "unindented-line", indented),
    "a comment of C": (f"// words\n{WHOLE}", "foreign-comment", in_place),
    "a comment of CSS": (f"/* words */\n{WHOLE}", "foreign-comment", in_place),
    "a comment of SQL": (f"-- words\n{WHOLE}", "foreign-comment", in_place),
    "a comment of INI": (f"; words\n{WHOLE}", "foreign-comment", in_place),
    "a comment of TeX": (f"% words\n{WHOLE}", "foreign-comment", in_place),
    "a comment behind a statement": (WHOLE + "infer exact // fits\n", "foreign-comment", in_place),
    "another one": (WHOLE + "infer exact -- fits\n", "foreign-comment", in_place),
    "a third": (WHOLE + "infer exact ; fits\n", "foreign-comment", in_place),
    "in a block": (HEAD + "features f:\n    // words\n    word\nclique chunk: f\n", "foreign-comment", in_place),
    # features and conditions
    "any of a window": (HEAD + "clique chunk: any(word[-2..-1] in {a, b})\n", "test-as-argument", in_place),
    "all of a window": (HEAD + "clique chunk: all(pos[-1..1] is NN), word\n", "test-as-argument", in_place),
    "any of a label": (
        WHOLE + "memory seen = any(chunk[-3..-1] is B-PER)\nclique chunk, seen\n", "test-as-argument", in_place,
    ),
    "a test of a test": (HEAD + "clique chunk: lower(word is a)\n", "test-as-argument", in_place),
    "a method": (HEAD + "clique chunk: word.lower()\n", "python-call", in_place),
    "a prefix": (HEAD + "clique chunk: word.startswith('un')\n", "python-call", in_place),
    "digits": (HEAD + "clique chunk: word.isdigit()\n", "python-call", in_place),
    "a function of re": (HEAD + 'clique chunk: re.match("[A-Z]", word)\n', "python-call", in_place),
    "a raw string": (HEAD + 'clique chunk: word matches r"[A-Z]+"\n', "bare-regex", None),
    "a list of words": (HEAD + "clique chunk: word not in [the, a]\n", "missing-braces", None),
    "a list of features": (HEAD + "features f: [word, pos]\nclique chunk: f\n", "bracketed-list", whole_line),
    "braces": (HEAD + "features f { word, pos }\nclique chunk: f\n", "bracketed-list", whole_line),
    "a tuple of sites": (HEAD + "clique (chunk[-1], chunk): word\n", "bracketed-list", whole_line),
    "a quoted column": (HEAD + "clique chunk: 'word'\n", "quoted-name", in_place),
    "a quoted text after `=`": (WHOLE + 'forbid chunk is O and word = "x"\n', "quoted-name", as_test),
    "a range with a dash": (HEAD + "clique chunk: suffix(word, 1-3)\n", "window-dots", None),
    "options behind": (HEAD + "clique chunk: word with states = all\n", "clause-order", whole_line),
    "an arrow between sites": (HEAD + "clique chunk[-1] -> chunk\nclique chunk: word\n", "foreign-operator", in_place),
    "an arrow between states": (WHOLE + "forbid B-PER -> B-PER\n", "foreign-operator", whole_line),
    "a comma between tests": (WHOLE + "forbid chunk[-1] is O, chunk is B-PER\n", "foreign-operator", None),
    # declarations
    "no label at all": ("data conll(word, chunk)\n" + BODY + "evaluate segments(chunk)\n", "no-label", declared_above),
    "no label, and constraints": (
        "data conll(word, chunk)\n" + BODY + "forbid chunk is X\nrequire chunk is Y when word is a\n",
        "no-label", declared_above,
    ),
    "one label of two": (
        "data conll(word, pos, chunk)\nlabel pos\nclique pos, chunk\n" + BODY + "evaluate accuracy(chunk)\n",
        "wrong-kind", declared_above,
    ),
    "a memory of itself": (WHOLE + "memory m = m\nclique chunk, m\n", "memory-cycle", whole_line),
    "memories of each other": (
        WHOLE + "memory m = n\nmemory n = m[-1]\nclique chunk, m\nclique chunk, n\n", "memory-cycle", whole_line,
    ),
    "states of each other": (
        WHOLE + "memory m in states(n) = n[-1] initially O\nmemory n in states(m) = m[-1] initially O\n"
        "clique chunk, m\nclique chunk, n\n", "memory-cycle", whole_line,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", OBEYED)
def test_one_message_and_its_remedy_leads_to_a_template_that_checks(case: str) -> None:
    text, slug, follow = OBEYED[case]
    found = errors(text)
    assert [problem.slug for problem in found] == [slug]
    if follow is not None:
        assert errors(follow(text, found[0])) == []


# Of two unnamed numbers and one, with what the help must write.
UNNAMED = {
    "gaussian(10)": "gaussian(variance = 10)",
    "laplace(0.5)": "laplace(scale = 0.5)",
    "elastic_net(0.1, 0.2)": "elastic_net(l1 = 0.1, l2 = 0.2)",
    "lphi(1.5, C = 2)": "lphi(phi = 1.5, C = 2)",
}


@pytest.mark.parametrize("call", UNNAMED)
def test_an_unnamed_argument_is_told_its_name(call: str) -> None:
    (found,) = errors(stage(f"prior = {call}"))
    assert found.slug == "bad-argument" and quoted(found) == UNNAMED[call]
    assert errors(stage(f"prior = {quoted(found)}")) == []


@pytest.mark.parametrize(("call", "right"), [("lbfgs(100)", "max_iterations = 100"), ("sgd(0.1)", "rate = 0.1")])
def test_an_unnamed_number_of_an_optimizer_is_what_fits(call: str, right: str) -> None:
    (found,) = errors(stage(f"optimizer = {call}"))
    assert right in quoted(found) and errors(stage(f"optimizer = {quoted(found)}")) == []


PENALTIES = {
    "c1 = 0.5": "laplace(scale = 2)",
    "c2 = 0.1": "gaussian(variance = 5)",
    "rho2 = 0.1": "gaussian(variance = 10)",
    "sigma = 3": "gaussian(variance = 9)",
    "c = 4": "gaussian(variance = 4)",
}


@pytest.mark.parametrize("setting", PENALTIES)
def test_a_penalty_is_the_prior_that_is_the_same(setting: str) -> None:
    """c1 |λ|, c2 λ² (CRFsuite); ½ρ λ² (Wapiti); λ² / 2σ²; ½λ² + C × loss, whose optimum is that of a variance C."""
    (found,) = errors(stage(setting))
    assert quoted(found) == f"prior = {PENALTIES[setting]}"


def test_comments_that_begin_alike_are_one_message_and_hide_nothing() -> None:
    text = "// a\n" + HEAD + "clique chunk: wrod // b\n// c\nclique chunk[-1], chunk // d\n// e\n"
    found = errors(text)
    assert [problem.slug for problem in found] == ["foreign-comment", "unknown-name"]
    assert len(found[0].secondary) == 3 and "1 more" in (found[0].help or "")


@pytest.mark.parametrize(
    "text",
    [
        "label pos in {\n    %, --, ;,\n    //, A\n}\n",
        "label chunk in {A, B}\nforbid chunk is A and pos is --\n",
        'lexicon d = "a//b.txt" # a -- b ; c\n',
        "clique chunk: word has /a%b;--c/\n",
    ],
)
def test_marks_of_comments_stay_what_they_are_elsewhere(text: str) -> None:
    slugs = [problem.slug for problem in load_text("data conll(word, pos, chunk)\n" + text).diagnostics]
    assert "foreign-comment" not in slugs or "//" in text.split("{")[-1]


@pytest.mark.parametrize("line", ["clqiue chunk: word", "lable pos", "train likelihood", "factor y, z", "use_all x"])
def test_a_statement_below_a_block_is_no_line_of_it(line: str) -> None:
    slugs = [problem.slug for problem in load_text(f"features f:\n    word\n{line}\n").diagnostics]
    assert "unindented-line" not in slugs


def test_the_circle_of_stages_is_shown_where_it_closes() -> None:
    text = WHOLE + "train likelihood as a after c\ntrain likelihood as b after a\ntrain likelihood as c after b\n"
    (found,) = errors(text)
    assert found.slug == "stage-cycle" and found.primary is not None
    assert (found.primary.span.line, found.primary.span.text) == (5, "c")
    assert "unknown" not in found.primary.text and len(found.secondary) == 2
    assert errors(text.replace("as a after c", "as a")) == []


def test_a_memory_that_hides_a_function_is_told_so() -> None:
    (found,) = errors(WHOLE + "memory first = chunk[-1] is O\nclique chunk, first: first\n")
    assert found.slug == "label-as-feature" and "hides the built-in" in (found.help or "")
    assert errors(WHOLE + "memory begun = chunk[-1] is O\nclique chunk, begun: first\n") == []


@pytest.mark.parametrize(
    "memories",
    ["memory odd = not odd[-1]\n", "memory odd in {A, B} = B if odd[-1] is A else A initially A\n",
     "memory odd = first or odd[-1]\n", "memory odd = odd[-1] or chunk[-1] is O\n"],
)  # fmt: skip
def test_a_memory_that_changes_is_no_circle(memories: str) -> None:
    found = [one.slug for one in check(load_text(WHOLE + memories + "clique chunk, odd\n"))]
    assert found == ["first-value"] * memories.startswith("memory odd = first")


# with data ------------------------------------------------------------------------------------------------------------

IOB1 = "The O\nAnn I-PER\nLee I-PER\nBo B-PER\nruns O\n\nOslo I-LOC\nis O\n"
CHUNKS = "data conll(word, chunk)\nlabel chunk in bio\nclique chunk: word\nclique chunk[-1], chunk\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.dcrf").write_text(CHUNKS)
    return tmp_path


class Done(NamedTuple):
    code: int
    out: str
    err: str


def run_cli(*arguments: str) -> Done:
    """The command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments)
    return Done(code, out.getvalue(), err.getvalue())


def checked(name: str = "data.txt", template: str = "a.dcrf", *more: str) -> tuple[int, str]:
    done = run_cli("check", template, "--data", name, "--quiet", *more)
    return done.code, done.err


def test_iob1_is_named_and_its_conversion_converts(folder: Path) -> None:
    Path("data.txt").write_text(IOB1)
    code, said = checked()
    assert code == 1 and "is IOB1" in said and "lines 2, 7" in said
    command = re.search(r"dcrfdsl (convert .*)", said)
    assert command is not None
    assert run_cli(*shlex.split(command[1])).code == 0
    assert [line.split()[1] for line in Path("iob2.txt").read_text().splitlines() if line] == [
        "O", "B-PER", "I-PER", "B-PER", "O", "B-LOC", "O",
    ]  # fmt: skip
    assert checked("iob2.txt")[0] == 0
    declared = re.search(r"write `(label [^`]*)`", said)
    assert declared is not None and "iob1" in declared[1]
    Path("b.dcrf").write_text(CHUNKS.replace("label chunk in bio", declared[1]))
    assert checked("data.txt", "b.dcrf")[0] == 0
    code, said = checked("iob2.txt", "b.dcrf")
    assert code == 1 and "is IOB2" in said and "write `label chunk in bio`" in said


def test_what_breaks_the_scheme_otherwise_is_not_called_iob1(folder: Path) -> None:
    Path("data.txt").write_text("The O\nAnn B-PER\nruns O\nOslo I-LOC\n")
    code, said = checked()
    assert code == 1 and "IOB1" not in said and "`I-LOC` after `O` (line 4)" in said


def test_a_state_of_another_scheme_names_it(folder: Path) -> None:
    Path("data.txt").write_text("Ann S-PER\nruns O\n")
    code, said = checked()
    assert code == 1 and "write `label chunk in bioes`" in said
    Path("b.dcrf").write_text(CHUNKS.replace("in bio", "in bioes"))
    assert checked("data.txt", "b.dcrf")[0] == 0


BROKEN = {
    "forbid chunk[-1] is O and chunk is B-PER": "at 2 of 5 places (lines 2, 5)",
    'require chunk is O when word is "Ann" as quiet': "at 1 of 7 places (line 2)",
    "require chunk is not B-PER": "at 3 of 7 places (lines 2, 3, 5)",
}


@pytest.mark.parametrize("constraint", BROKEN)
def test_a_broken_constraint_is_quoted_and_counted(folder: Path, constraint: str) -> None:
    Path("data.txt").write_text("The O\nAnn B-PER\nBo B-PER\nthe O\nCy B-PER\n\nA O\nB O\n")
    Path("a.dcrf").write_text(CHUNKS + "forbid chunk is I-PER as never\n" + constraint + "\n")
    code, said = checked()
    assert code == 1 and said.count("error[") == 1
    assert constraint.replace('"', "") in said.replace('"', "") and BROKEN[constraint] in said


LEXICONS = {
    "compared in lower case, written with capitals": ("Ann\nBo\n", "lower(word) in names", "`word in names`", "2 of 7"),
    "compared as it is, written in lower case": ("ann\nbo\n", "word in names", "`lower(word) in names`", "2 of 7"),
    "written in capitals": ("ANN\nBO\n", "lower(word) in names", "declare `names` with `case = ignore`", "2 of 7"),
    "of another language": ("Zoë\n", "lower(word) in names", "no column has its entries", "`Zoë`"),
}


@pytest.mark.parametrize("case", LEXICONS)
def test_an_idle_lexicon_gets_the_comparison_that_matches(folder: Path, case: str) -> None:
    entries, feature, *expected = LEXICONS[case]
    Path("names.txt").write_text(entries)
    Path("data.txt").write_text("The O\nAnn B-PER\nBo B-PER\nthe O\nCy B-PER\n\nA O\nB O\n")
    Path("a.dcrf").write_text(
        CHUNKS.replace("clique chunk: word", f'lexicon names = "names.txt"\nclique chunk: {feature}')
    )
    done = run_cli("check", "a.dcrf", "--data", "data.txt")
    assert done.err.count("warning[") == 1 and "idle-lexicon" in done.err
    assert all(words in done.err for words in expected)


# the command line -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [("train", "-o", "m.model"), ("unroll",)])
def test_exchanged_arguments_are_one_line(folder: Path, command: tuple[str, ...]) -> None:
    Path("data.txt").write_text(IOB1 * 30)
    done = run_cli(command[0], "data.txt", "a.dcrf", *command[1:])
    assert done.code == 1 and done.err.count("error[") == 1
    assert "`a.dcrf` is the template" in done.err and "write `a.dcrf data.txt`" in done.err


def test_data_in_place_of_a_template_is_one_message(folder: Path) -> None:
    Path("data.txt").write_text(IOB1 * 30)
    done = run_cli("check", "data.txt")
    assert done.code == 1 and done.err.count("error[") == 1 and "no-template" in done.err


FEATURES = "import dcrfdsl\n\n\n@dcrfdsl.feature\ndef third(word):\n    return word[2]\n"
# they read nothing of the user's, only the columns of a template, refuse models with functions of one's own, or have
# the names of such files from elsewhere and do not run them
WITHOUT_FILES = ("demo", "explain", "new", "convert", "export", "lsp", "schema")


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in WITHOUT_FILES])
def test_every_command_that_calls_a_users_functions_takes_their_file(name: str) -> None:
    assert "--features" in run_cli(name, "--help").out


def test_a_failing_feature_function_is_told_with_file_line_and_value(folder: Path) -> None:
    Path("data.txt").write_text("The O\nBo B-PER\n")
    Path("mine.py").write_text(FEATURES)
    Path("a.dcrf").write_text(CHUNKS.replace("chunk: word", "chunk: word, third(word)"))
    code, said = checked("data.txt", "a.dcrf", "--features", "mine.py")
    assert code == 1 and "third" in said and "IndexError" in said
    assert "`Bo` (data.txt:2)" in said and "mine.py:6" in said


def test_a_feature_function_of_the_wrong_kind_is_told_with_its_place(folder: Path) -> None:
    Path("data.txt").write_text("The O\nBo B-PER\n")
    Path("mine.py").write_text(FEATURES.replace("word[2]", "object()"))
    Path("a.dcrf").write_text(CHUNKS.replace("chunk: word", "chunk: word, third(word)"))
    code, said = checked("data.txt", "a.dcrf", "--features", "mine.py")
    assert code == 1 and "bad-result" in said and "`The` (data.txt:1)" in said and "mine.py:" in said
