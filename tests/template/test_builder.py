"""The Python builder says what the language says: each example, written in Python, gives the same specification.

The functions below are also the reference by example of the builder: one a file of the language's examples.
"""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any, cast

import pytest
from helpers import EXAMPLES, ROOT

import dcrfdsl.template
from dcrfdsl import DcrfError, Template, load_template, load_text
from dcrfdsl.syntax import nodes as ex
from dcrfdsl.template import (
    accuracy,
    all_of,
    apply,
    bias,
    bio,
    bioes,
    call,
    chars,
    feats,
    first,
    gaussian,
    if_else,
    index,
    last,
    lbfgs,
    length,
    locked,
    lower,
    positions,
    prefix,
    segments,
    shape,
    span,
    state_file,
    states_of,
    suffix,
)


def chunker() -> Template:
    m = Template("chunker", doc="Linear-chain NP chunker over word and part-of-speech columns.")
    word, pos, _ = m.data("conll", "word", "pos", "chunk")
    chunk = m.label("chunk", bio("NP"), others="O")
    token = m.features(
        "token",
        lower(word).window(-2, 2),
        pos.window(-2, 2),
        lower(word)[-1] & lower(word),
        lower(word) & lower(word)[1],
        pos[-2] & pos[-1] & pos,
        prefix(word, 1, 4),
        suffix(word, 1, 4),
        shape(word),
        word.has("[0-9]"),
        word.has("-"),
        min_count=2,
    )
    m.clique(chunk, features=[bias, token], name="words")
    m.clique(chunk[-1], chunk, name="chain")
    m.infer("exact")
    m.train("likelihood", prior=gaussian(variance=10))
    m.evaluate(segments(chunk))
    return m


def factorial() -> Template:
    m = Template(
        "factorial",
        doc="""Joint part-of-speech tagging and NP chunking: the factorial CRF of
        Sutton, Rohanimanesh & McCallum (2004), with the features of its Table 2.""",
    )
    word, pos, chunk = m.data("conll", "word", "pos", "chunk")
    m.label("pos")
    m.label("chunk", ["B-NP", "I-NP", "O"], others="O")
    first_names = m.lexicon("first_names", "first_names.txt")
    places = m.lexicon("places", "places.txt")
    days = m.lexicon("days", "days.txt")
    months = m.lexicon("months", "months.txt")
    capitals = ["[A-Z][a-z]+", "[A-Z]", "[A-Z]+", "[A-Z]+[a-z]+[A-Z]+[a-z]", ".*[0-9].*"]
    q = m.features(
        "q",
        word,
        *(word.matches(pattern) for pattern in capitals),
        *(word.in_(names) for names in (first_names, places, days, months)),
    )
    m.clique(pos, features=[bias, q.window(-3, 3)], name="pos_words")
    m.clique(chunk, features=[bias, q.window(-3, 3)], name="chunk_words")
    m.clique(pos[-1], pos, name="pos_chain")
    m.clique(chunk[-1], chunk, name="chunk_chain")
    m.clique(pos, chunk, name="cotemporal")
    m.infer(call("trp", tolerance=1e-3, seed=0))
    m.decode("joint")
    m.train("likelihood", prior=gaussian(variance=10))
    m.evaluate(accuracy(pos), segments(chunk), "joint_accuracy")
    return m


def test_runs_are_a_word_of_the_metric() -> None:
    m = Template()
    word, _ = m.data("conll", "word", "field")
    field = m.label("field")
    m.clique(field, features=[word])
    m.evaluate(segments("field", runs=True), call("by_type", field, "runs"))
    assert "evaluate segments(field, runs), by_type(field, runs)" in dcrfdsl.to_text(m.spec())


def long_range() -> Template:
    m = Template(
        "long_range",
        doc="""Second-order chain, skip edges between repeated capitalised words, and a
        slower phrase layer above (a hierarchical CRF).""",
    )
    word, _, phrase, ner = m.data("conll", "word", "pos", "phrase", "ner")
    m.label("ner", bioes("PER", "ORG", "LOC", "MISC"))
    m.label("phrase", bio("NP", "VP", "PP"))
    done = m.latent("done", ["no", "yes"])
    token = m.features("token", word.window(-1, 1), shape(word).window(-1, 1), suffix(word, 3))

    m.clique(ner, features=[bias, token])
    m.clique(ner[-1], ner, features=[bias, shape(word)])
    m.clique(ner[-2], ner[-1], ner, name="trigram", states="seen")

    i, j = positions("i", "j")
    m.clique(
        ner[i],
        ner[j],
        name="skip",
        where=(word[i] == word[j]) & word[i].matches(r"[A-Z]\w+"),
        min_gap=2,
        max_gap=200,
        link="next",
        features=[bias, word[i - 1] & word[j - 1], word[i + 1] & word[j + 1]],
    )

    m.clique(phrase[-1], done[-1], phrase, name="upper")
    m.clique(phrase, ner, done, name="descend")
    m.require(phrase == phrase[-1], when=done[-1].is_("no"))
    m.infer("trp", max_iterations=200, tolerance=1e-4, damping=0.1)
    m.train("likelihood", prior=gaussian(variance=10))
    return m


def latent_memory() -> Template:
    m = Template("latent_memory", doc="Partial annotation, a latent sub-class, and two memory variables.")
    word, pos, role = m.data("conll", "word", "pos", "role")
    m.label("pos", missing="_")
    m.label("role", bio("AGENT", "PATIENT"), missing="?", ambiguous="|")
    sense = m.latent("sense", 4)
    seen_verb = m.memory("seen_verb", lambda seen: seen[-1] | pos[-1].matches("VB.*"))
    last_role = m.memory(
        "last_role",
        lambda last: if_else(role[-1], role[-1].is_not("O"), last[-1]),
        domain=states_of(role),
        initially="O",
    )
    token = m.features("token", word.window(-2, 2), suffix(word, 2, 3))
    m.clique(pos, features=[bias, token])
    m.clique(pos[-1], pos)
    m.clique(role, features=[bias, token])
    m.clique(role[-1], role)
    m.clique(role, seen_verb, features=[bias, lower(word)])
    m.clique(role, last_role)
    m.clique(sense, role, features=[bias, token])
    m.clique(sense[-1], sense)
    m.infer("trp")
    m.train("likelihood", prior=gaussian(variance=10), restarts=5, seed=17)
    return m


def criteria() -> Template:
    m = Template(
        "criteria",
        doc="""One model, many training criteria. `train` runs the last stage and whatever
        it comes `after`; `--stage NAME` picks another.""",
        directory=EXAMPLES,
    )
    m.use("02_factorial.dcrf")
    chunk = m["chunk"]
    variance = m.let("variance", 10, tune=call("log", 0.1, 1000))
    m.train("likelihood", name="map", prior=gaussian(variance), optimizer=lbfgs(memory=7, tolerance=1e-5))
    m.train(
        "mce",
        name="mce_f",
        after="map",
        loss=call("fscore", chunk),
        psi=float("inf"),
        gamma=1,
        smoothing=call("sigmoid", alpha=1, beta=0),
        prior=gaussian(variance=10),
        optimizer="quickprop",
    )
    logistic = call("logistic", alpha=1, beta=0)
    m.train("mce", name="mce_log", loss="sequence", psi=float("inf"), smoothing=logistic)
    m.train("pseudolikelihood", name="pl", prior=gaussian(variance=10))
    m.train("marginal", name="mg", prior=gaussian(variance=10))
    m.train("hmsvm", name="svm", C=1, slack="sequence")
    m.train("exponential", name="exp_loss", weight="uniform")
    m.train("adaboost", name="boost", rounds=500)
    m.train("perceptron", name="avg", epochs=10, average=True)
    return m


def pieces() -> Template:
    m = Template(
        "pieces",
        doc="""Parameter independence diagrams (McCallum & Sutton 2004): each `piece` names
        the variables it normalises over and the cliques it holds; a variable that a
        piece's cliques touch but that it is not `over` is conditioned on.""",
        directory=EXAMPLES,
    )
    m.use("01_chunker.dcrf")
    chunk, chain, words = m["chunk"], m["chain"], m["words"]
    following = m.piece("next", over=chunk, cliques=[chain, words])
    site = m.piece("site", over=chunk, cliques=[chain, chain[1], words])
    left = m.piece("left", over=chunk, cliques=[chain, words])
    right = m.piece("right", over=chunk, cliques=[chain[1], words])
    m.train(call("piecewise", following), name="memm", decode="local")
    m.train(call("piecewise", site), name="pl")
    m.train(call("piecewise", left, right), name="bi")
    nota = call("above", threshold=0.2, after=20)
    m.train(call("piecewise", following), name="pt", nota=nota, prior=gaussian(variance=10))
    m.train("rescale", name="calibrated", after="pt", per="source")
    return m


def label_bias() -> Template:
    m = Template(
        "label_bias",
        doc="""First-order model of the rib/rob automaton used to show label bias, trained
        by improved iterative scaling (Lafferty, McCallum & Pereira 2001).""",
    )
    symbol, state = m.data("conll", "symbol", "state")
    m.label("state")
    m.clique(state, features=[symbol])
    m.clique(state[-1], state, edges="pad")
    m.train("likelihood", prior=None, optimizer=call("iis", algorithm="T"))
    return m


def crfsuite_chunking() -> Template:
    m = Template(
        "crfsuite_chunking",
        doc="""The chunking features that CRF++ and CRFsuite users know, one to one: on CoNLL-2000 this
        is 456,468 weights, and its optimum must be CRFsuite's (c2 = 0.1 is variance = 5).""",
    )
    word, pos, chunk = m.data("conll", "word", "pos", "chunk")
    m.label("chunk")
    window = m.features(
        "window",
        word.window(-2, 2),
        *(word[-1] & word, word & word[1]),
        pos.window(-2, 2),
        *(pos[-2] & pos[-1], pos[-1] & pos, pos & pos[1], pos[1] & pos[2]),
        *(pos[-2] & pos[-1] & pos, pos[-1] & pos & pos[1], pos & pos[1] & pos[2]),
    )
    m.clique(chunk, states="seen", features=[window])
    m.clique(chunk[-1], chunk, states="seen")
    m.infer("exact")
    m.train("likelihood", prior=gaussian(variance=5))
    m.evaluate(segments(chunk), accuracy(chunk))
    return m


def morphology() -> Template:
    m = Template(
        "morphology",
        doc="""Joint morphological tagging: four coupled chains over CoNLL-U data, where exact inference is
        dear and TRP pays.""",
    )
    word, upos, case, number, poss = m.data(
        "conllu",
        word="form",
        upos="upos",
        case=feats("Case"),
        number=feats("PersonNumber"),
        poss=feats("Possessive"),
    )
    labels = [m.label(name) for name in ("upos", "case", "number", "poss")]
    token = m.features(
        "token",
        *(word, lower(word).window(-1, 1)),
        *(suffix(word, 1, 6), prefix(word, 1, 3)),
        *(shape(word), word.has("[0-9]")),
        min_count=2,
    )
    for label in labels:
        m.clique(label, features=[bias, token])
    for label in labels:
        m.clique(label[-1], label)
    for pair in ((upos, case), (upos, number), (upos, poss), (case, number), (poss, case)):
        m.clique(*pair)
    m.infer(call("trp", tolerance=1e-3))
    m.train("likelihood", prior=gaussian(variance=10))
    m.evaluate(*map(accuracy, labels), "joint_accuracy")
    return m


EXAMPLE_MODELS: dict[str, Callable[[], Template]] = {
    "01_chunker": chunker,
    "02_factorial": factorial,
    "03_long_range": long_range,
    "04_latent_memory": latent_memory,
    "05_criteria": criteria,
    "06_pieces": pieces,
    "07_label_bias": label_bias,
    "08_crfsuite_chunking": crfsuite_chunking,
    "09_morphology": morphology,
}


@pytest.mark.parametrize("example", EXAMPLE_MODELS)
def test_builder_says_what_the_example_says(example: str) -> None:
    model = EXAMPLE_MODELS[example]()
    assert model.spec(unchecked=True) == load_template(EXAMPLES / f"{example}.dcrf").require()
    assert load_text(model.text()).require(unchecked=True) == model.spec(unchecked=True)


# The rest of the language: what is said in Python, and the statement that it stands for.


word, pos, tag = Template().data("conll", "word", "pos", "tag")
i, j = positions("i", "j")
(head,) = Template().data("conll", "head")

CASES: list[tuple[str, Callable[[Template], object], str]] = [
    (
        "typed columns",
        lambda m: m.data("conll", "w", "h:float", "v:vector(3)", "b:bag"),
        "data conll(w, h:float, v: vector(3), b:bag)",
    ),
    ("reader options", lambda m: m.data("conll", "w", options={"separator": "\t"}), 'data conll(w, separator = "\\t")'),
    ("state file", lambda m: m.label("tag", state_file("tags.txt")), 'label tag in "tags.txt"'),
    ("free moves", lambda m: m.label("tag", bio(), constrain=False), "label tag in bio() with constrain = no"),
    ("odd states", lambda m: m.label("tag", ["WP$", "''", "-LRB-"]), "label tag in {WP$, '', -LRB-}"),
    ("view", lambda m: m.view("noun", pos.matches("N.*")), "view noun = pos matches /N.*/"),
    ("several offsets", lambda m: m.features("q", word[-2, 0, 2]), "features q: word[-2, 0, 2]"),
    ("skip boundary", lambda m: m.features("q", word, outside="skip"), "features q with outside = skip: word"),
    (
        "constant count",
        lambda m: m.features("q", word, min_count=m.let("n", 3)),
        "let n = 3\nfeatures q with min_count = n: word",
    ),
    ("ignore case", lambda m: m.features("q", word.has("a/b", ignore_case=True)), "features q: word has /a\\/b/i"),
    (
        "negated tests",
        lambda m: m.features("q", pos.not_in("A", "B"), pos != "C"),
        "features q: pos not in {A, B}, pos is not C",
    ),
    (
        "and, or, not",
        lambda m: m.features("q", all_of(~pos.is_("A"), word.has("x") | word.has("y"))),
        "features q: (not pos is A and (word has /x/ or word has /y/))",
    ),
    (
        "cross in or is and",
        lambda m: m.features("q", (pos.is_("A") & word.has("x")) | pos.is_("B")),
        "features q: (pos is A and word has /x/ or pos is B)",
    ),
    (
        "functions",
        lambda m: m.features("q", length(word), chars(word, 3), shape(word, short=True), first, last),
        "features q: length(word), chars(word, 3), shape(word, short = yes), first, last",
    ),
    (
        "lexicons",
        lambda m: m.features("q", m.lexicon("brill", "b.tsv")(word)[-1], span(word, m.lexicon("p", "p.txt"))),
        'lexicon brill = "b.tsv"\nlexicon p = "p.txt"\nfeatures q: brill(word)[-1], span(word, p)',
    ),
    (
        "registered function",
        lambda m: m.features("q", apply("syllables", word, language="tr")),
        "features q: syllables(word, language = tr)",
    ),
    (
        "arcs",
        lambda m: m.clique(tag[i], tag[j], where=index[j] == head[i], order="any", link="all"),
        "clique tag[i], tag[j] where index[j] = head[i] with link = all, order = any",
    ),
    (
        "forbid",
        lambda m: m.forbid(tag[-1].is_("X") & tag.is_("Y"), name="no_xy"),
        "forbid tag[-1] is X and tag is Y as no_xy",
    ),
    (
        "whole-sequence piece",
        lambda m: m.piece("all_tags", over=tag[...], cliques=[locked(m.clique(tag, name="c"))]),
        "clique tag as c\npiece all_tags over tag[all]: locked c",
    ),
    (
        "prior of one clique",
        lambda m: m.train("likelihood", prior=None, priors={"chain": gaussian(2)}),
        "train likelihood: prior = none, prior.chain = gaussian(variance = 2)",
    ),
    (
        "kernel of one clique",
        lambda m: m.train("hmsvm", loss=call("hamming", tag), kernels={"chain": call("rbf", gamma=0.5)}),
        "train hmsvm: loss = hamming(tag), kernel.chain = rbf(gamma = 0.5)",
    ),
    (
        "costs that are added",
        lambda m: m.train("likelihood", cost=call("sum", call("cost", tag, "A B 2"), call("hamming", tag))),
        'train likelihood: cost = sum(cost(tag, "A B 2"), hamming(tag))',
    ),
]


@pytest.mark.parametrize("say, text", [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_python_and_template_agree(say: Callable[[Template], object], text: str) -> None:
    model = Template()
    say(model)
    assert model.spec(unchecked=True) == load_text(text + "\n").require(unchecked=True)


MISUSES: list[tuple[str, Callable[[], object], type[Exception], str]] = [
    ("truth value", lambda: word.has("a") and word.has("b"), TypeError, "use & | ~"),
    ("a slice", lambda: word[-1:1], TypeError, "window"),
    ("half a slice", lambda: word[-1:], TypeError, "window"),
    ("two places", lambda: word[-1][-1], ValueError, "place already"),
    ("iterating a term", lambda: iter(cast(Any, word)), TypeError, "not iterable"),
    ("fractional offset", lambda: cast(Any, word)[0.5], TypeError, "float"),
    ("piece of an unnamed clique", lambda: locked(Template().clique(tag)), ValueError, "name="),
    ("clique of a feature", lambda: Template().clique(lower(word)), TypeError, "lower"),
    ("states as a text", lambda: Template().label("tag", "A B"), TypeError, "state_file"),
    ("states without order", lambda: Template().label("tag", {"A", "B"}), TypeError, "no order"),  # type: ignore[arg-type]
    ("column type", lambda: Template().data("conll", "word:"), ValueError, "word"),
    ("nan", lambda: Template().train("likelihood", rate=float("nan")), TypeError, "nan"),
]


@pytest.mark.parametrize("misuse, error, words", [case[1:] for case in MISUSES], ids=[case[0] for case in MISUSES])
def test_misuse_is_an_error_at_once(misuse: Callable[[], object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        misuse()


def test_declared_twice_is_found_by_spec() -> None:
    m = Template()
    m.label("tag")
    m.label("tag")
    with pytest.raises(DcrfError, match="label `tag` is declared twice"):
        m.spec()


def test_a_name_that_is_none_is_reported_with_the_text() -> None:
    m = Template("odd")
    m.label("two words")
    with pytest.raises(DcrfError, match=r"<odd>:\d+:\d+"):
        m.spec()


def test_slashes_in_patterns_are_escaped_outside_brackets() -> None:
    node = word.matches(r"a/[/]\/").node
    assert isinstance(node, ex.Matches)
    assert node.regex.pattern == r"a\/[/]\/"


@pytest.mark.long
def test_importing_the_package_loads_nothing_heavy() -> None:
    """Nor does writing a template: numba and its kind are for training."""
    program = """
import sys, dcrfdsl
print(*(name for name in ("numpy", "pydantic", "lark") if name in sys.modules))
m = dcrfdsl.Template(); m.data("conll", "word", "y")
m.clique(m.label("y"), features=["word"]); m.spec(); dcrfdsl.check(m)
print(*(name for name in ("numba", "scipy", "networkx", "pandas", "sklearn") if name in sys.modules))
"""
    root = ROOT
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout == "\n\n"


# what users write; the rest of the room's names are for other rooms
BUILDER_NAMES = [name for name in dcrfdsl.template.__all__ if name != "as_setting_value"]


def test_the_words_of_templates_stay_in_their_room_and_the_top_is_short() -> None:
    assert set(dcrfdsl.__all__) <= set(dir(dcrfdsl))
    assert set(dcrfdsl.__all__) & set(BUILDER_NAMES) == {"Template"}
    assert len(dcrfdsl.__all__) <= 30


@pytest.mark.parametrize("module", ["term_functions", "template_variables", "template_builder", "builder_terms"])
def test_examples_in_docstrings_run(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples/address")
    names = {name: getattr(dcrfdsl.template, name) for name in BUILDER_NAMES}
    found = doctest.testmod(importlib.import_module(f"dcrfdsl.template.{module}"), extraglobs=names)
    assert found.failed == 0
