"""Probabilities of events against enumeration of all labellings; digits near 0 and 1; what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
import reference
from hidden_cases import HIDDEN
from model_cases import columns, trained, twin_of
from template_cases import CASES, Case, sentences

from dcrfdsl.data.formats.span_tokens import segments_in
from dcrfdsl.data.segment_marks import mark_table
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.model import event_probabilities, predictor
from dcrfdsl.semantics import ExactSettings
from dcrfdsl.semantics.conditions.label_diagrams import ALL, NONE, LabelDiagrams, state_bits

MEMORY = Case(
    "data conll(word, y)\nlabel y\nmemory last in states(y) = y[-1] if y[-1] is not O else last[-1] initially O\n"
    "clique y: bias, word\nclique y, last: bias\n",
    sentences("POQ"),
)
ALIKE = Case(
    "data conll(word, y, z)\nlabel y in {P, Q, R}\nlabel z in {P, Q}\nclique y: bias, word\nclique z: word\n"
    "clique y[-1], y\nclique y, z: word\n",
    sentences("PQR", "PQ", longest=3),
)
KINDS = {
    **{name: CASES[name] for name in (
        "chain", "padded second order", "factorial", "segments", "skip chain", "forbidden moves",
        "a constraint across cliques", "a view that ties weights", "arcs",
    )},
    "a memory": MEMORY,
    "latent": HIDDEN["latent"],
    "two layers alike": ALIKE,
}  # fmt: skip


def every_labelling(model, case, number):
    """Each possible labelling of a sentence by variable, and its log-probability."""
    every = twin_of(model, case).enumerate(columns(case, case.sentences[number]))
    scores = every.scores(model.weights)
    names = list(model.states)
    labellings = [
        {
            name: [model.states[name][row[t * len(names) + m]] for t in range(every.length)]
            for m, name in enumerate(names)
        }
        for row in every.index.tolist()
    ]
    return labellings, scores - reference.log_sum(scores)


def random_event(generator, model, labellings, depth=2):
    """The text of an event, and the test of a labelling that it stands for. labellings: `gold`, `predicted`."""
    length = len(next(iter(labellings["predicted"].values())))
    names = list(model.states)
    name = names[generator.integers(len(names))]
    states, t = model.states[name], int(generator.integers(length))
    state = states[generator.integers(len(states))]
    kind = int(generator.integers(9 if depth else 6))
    if kind >= 6:
        parts = [random_event(generator, model, labellings, depth - 1) for _ in range(int(generator.integers(2, 4)))]
        if kind == 8:
            (text, test), *_ = parts
            return f"not ({text})", lambda labelling: not test(labelling)
        word, join = (("and", all), ("or", any))[kind - 6]
        text = f" {word} ".join(f"({text})" for text, _ in parts)
        return text, lambda labelling: join(test(labelling) for _, test in parts)
    if kind == 0:
        return f'{name}[{t + 1}] is "{state}"', lambda labelling: labelling[name][t] == state
    if kind == 1:
        return f'{name}[{t + 1}] is not "{state}"', lambda labelling: labelling[name][t] != state
    if kind == 2:
        some = [one for one in states if generator.random() < 0.5] or [state]
        listed = ", ".join(f'"{one}"' for one in some)
        return f"{name}[{t + 1}] in {{{listed}}}", lambda labelling: labelling[name][t] in some
    if kind == 3:
        other, u = names[generator.integers(len(names))], int(generator.integers(length))
        return f"{name}[{t + 1}] = {other}[{u + 1}]", lambda labelling: labelling[name][t] == labelling[other][u]
    word = ("predicted", "gold")[int(generator.integers(2))]
    wanted, of = labellings[word], model.labels[generator.integers(len(model.labels))]
    if kind == 4:
        return f"{of}[{t + 1}] = {word}", lambda labelling: labelling[of][t] == wanted[of][t]
    if generator.random() < 0.5:
        return f"{of} != {word}", lambda labelling: labelling[of] != wanted[of]
    return word, lambda labelling: all(labelling[label] == wanted[label] for label in model.labels)


def known_labellings(model, case, corpus, number):
    prediction = model.predict(corpus.slice(number, number + 1))
    table = columns(case, case.sentences[number])
    others = {label.name: label.others for label in model.spec.labels}
    gold = {
        label: [value if value in model.states[label] else others[label] for value in table[label]]
        for label in model.labels
    }
    return {"gold": gold, "predicted": {label: prediction.texts(label) for label in model.labels}}


@pytest.mark.parametrize("name", KINDS)
def test_probabilities_are_those_of_enumeration(name):
    case = KINDS[name]
    model, corpus = trained(case, scale=1.5)
    generator = np.random.default_rng(5)
    for number in range(min(4, corpus.num_sentences)):
        known = known_labellings(model, case, corpus, number)
        events = [random_event(generator, model, known) for _ in range(12)]
        labellings, log_p = every_labelling(model, case, number)
        answers = model.events.probability(corpus.slice(number, number + 1), [text for text, _ in events], threads=1)[0]
        for (text, test), answer in zip(events, answers, strict=True):
            holds = np.array([test(labelling) for labelling in labellings])
            assert answer.event == text and answer.exact and answer.converged
            assert answer.value == pytest.approx(np.exp(log_p[holds]).sum(), rel=1e-9, abs=1e-12), text
            for found, part in ((answer.log, log_p[holds]), (answer.log_not, log_p[~holds])):
                wanted = reference.log_sum(part) if len(part) else -np.inf
                assert found == wanted or found == pytest.approx(wanted, rel=1e-9, abs=1e-9), text


def test_views_and_patterns():
    case = CASES["a view that ties weights"]
    model, corpus = trained(case, scale=1.5)
    events = {
        "coarse[1] is P": lambda one: one["y"][0] in ("P1", "P2"),
        "coarse[1] = coarse[2]": lambda one: one["y"][0][0] == one["y"][1][0],
        "y[2] matches /.1/ and not coarse[2] in {Q}": lambda one: one["y"][1] == "P1",
        "y[1] has /2/ or z[2] != z[1]": lambda one: one["y"][0] == "P2" or one["z"][0] != one["z"][1],
    }
    labellings, log_p = every_labelling(model, case, 2)
    for (text, test), found in zip(
        events.items(), model.events.probability(corpus.slice(2, 3), list(events))[0], strict=True
    ):
        holds = np.array([test(one) for one in labellings])
        assert found.value == pytest.approx(np.exp(log_p[holds]).sum(), rel=1e-9), text
    with pytest.raises(DcrfError, match="`P1` is no state of `coarse`"):
        model.events.probability(corpus.slice(2, 3), "coarse[1] is P1")


# segments -----------------------------------------------------------------------------------------------------------

MARKS = ("B-X", "I-X", "E-X", "S-Y", "I-Y", "O")
SEGMENTED = {
    "legal": CASES["segments"],
    "any order of marks": Case(
        "data conll(word, y)\nlabel y in {" + ", ".join(MARKS) + "}\nclique y: bias, word\nclique y[-1], y\n",
        sentences(MARKS, longest=3),
    ),
}


@pytest.mark.parametrize("name", SEGMENTED)
def test_segments_are_those_that_the_metric_reads(name):
    case = SEGMENTED[name]
    model, corpus = trained(case, scale=1.5)
    types = mark_table(model.states["y"])[2]
    for number in range(min(3, corpus.num_sentences)):
        labellings, log_p = every_labelling(model, case, number)
        length = len(labellings[0]["y"])
        found = [set(segments_in(one["y"], np.array([0, length]))[0]) for one in labellings]
        places = [(i, j, kind) for i in range(length) for j in range(i, length) for kind in types]
        events = [f'segment(y, {i + 1}, {j + 1}, "{kind}")' for i, j, kind in places]
        answers = model.events.probability(corpus.slice(number, number + 1), events)[0]
        for place, answer in zip(places, answers, strict=True):
            holds = np.array([place in segments for segments in found])
            assert answer.value == pytest.approx(np.exp(log_p[holds]).sum(), rel=1e-9, abs=1e-12)


# digits -------------------------------------------------------------------------------------------------------------


def test_digits_near_0_and_1_are_kept():
    model, corpus = trained(CASES["independent"])
    sentence = corpus.slice(1, 2)
    weights = np.where([states == ("P",) for _, _, states, _ in model.explanations.iter_weights()], 40.0, 0.0)
    strong = model.with_weights(weights, model.record)
    labellings, log_p = every_labelling(strong, CASES["independent"], 1)
    sure, rare = strong.events.probability(sentence, ["y[1] is P", "not y[1] is P"])[0]
    wanted = reference.log_sum(log_p[np.array([one["y"][0] != "P" for one in labellings])])
    assert wanted < -40.0 and sure.value == 1.0
    assert sure.log_not == pytest.approx(wanted, rel=1e-12) and rare.log == pytest.approx(wanted, rel=1e-12)
    assert sure.log == pytest.approx(-math.exp(wanted), rel=1e-9) and rare.log_not == sure.log
    assert rare.value == pytest.approx(math.exp(wanted), rel=1e-9) and rare.value > 0.0


def test_certain_and_impossible_events():
    model, corpus = trained(CASES["forbidden moves"])
    sentence = corpus.slice(0, 1)
    never, always = model.events.probability(sentence, ["y[1] is P and y[2] is R", "y[1] in {P, Q, R}"])[0]
    assert (never.value, never.log, never.log_not) == (0.0, -math.inf, 0.0)
    assert (always.value, always.log, always.log_not) == (1.0, 0.0, -math.inf)
    assert model.events.probability(sentence, "y[1] is P and not y[1] is P")[0].value == 0.0


# what may be asked about --------------------------------------------------------------------------------------------


def test_single_sentences_lists_corpora_and_labels_known_beforehand():
    case = CASES["chain"]
    model, corpus = trained(case, scale=1.5)
    words = [row[0] for row in case.sentences[3]]
    one = model.events.probability(words, "y[2] is P")
    assert one == model.events.probability(corpus.slice(3, 4), "y[2] is P")[0]
    assert model.events.probability(words, ["y[2] is P"]) == [one]
    assert one == model.events.probability(model.prepare(corpus.slice(3, 4)), ["y[2] is P"])[0][0]
    every = model.events.probability(corpus, "y[1] is P")
    assert len(every) == corpus.num_sentences
    first = model.marginals(corpus)[0]["y"][corpus.sentence_off[:-1], model.states["y"].index("P")]
    assert [p.value for p in every] == pytest.approx(first.tolist())
    labellings, log_p = every_labelling(model, case, 3)
    given = [None, *["Q"] * (len(words) - 1)]
    known = np.array([one["y"][1:] == given[1:] for one in labellings])
    both = known & np.array([one["y"][0] == "P" for one in labellings])
    share = math.exp(reference.log_sum(log_p[both]) - reference.log_sum(log_p[known]))
    assert model.events.probability(words, "y[1] is P", given=given).value == pytest.approx(share, rel=1e-9)
    assert model.events.probability(words, "y[2] is P", given=given).value == 0.0


def test_no_events_and_many_sentences(monkeypatch):
    model, corpus = trained(CASES["chain"])
    assert model.events.probability(corpus, []) == [[]] * corpus.num_sentences
    assert model.events.probability(["a", "b"], []) == []
    events = ["gold", "y[1] = predicted", "not predicted"]
    together = model.events.probability(corpus, events)
    monkeypatch.setattr(event_probabilities, "MOST_ENTRIES", 2)  # a sentence or two at a time, and fewer digits near 1
    for ours, theirs in zip(model.events.probability(corpus, events), together, strict=True):
        assert [one.value for one in ours] == pytest.approx([one.value for one in theirs], rel=1e-12)


def test_gold_values_that_are_no_states_or_not_known():
    case = HIDDEN["missing"]
    model, corpus = trained(case)
    assert model.events.probability(corpus, "y[1] = gold")[2].value == pytest.approx(1.0)  # gold: ?
    some = model.events.probability(corpus.slice(0, 1), ["gold", "y[1] is P"])[0]
    assert some[0].value == pytest.approx(some[1].value)
    others = Case(CASES["chain"].text, [[("a", "P"), ("b", "Nothing")]])
    strange, _ = trained(CASES["chain"])
    answers = strange.events.probability(others.corpus(), ["gold", "y[1] = gold", "y[1] is P"])[0]
    assert answers[0].value == 0.0 and answers[1].value == answers[2].value > 0.0


def test_many_positions_take_no_more_cases_than_they_need():
    """`not predicted` and a disjunction over all positions have one case a position."""
    diagrams = LabelDiagrams([3])
    some = diagrams.disjunction([diagrams.case({(t, 0): 1}) for t in range(3000)])
    assert diagrams.count(some) == 3000 and diagrams.count(some, NONE) == 1
    whole = diagrams.case({(t, 0): 2 for t in range(3000)})
    assert diagrams.count(diagrams.negation(whole)) == 3000
    assert diagrams.negation(diagrams.negation(whole)) == whole
    assert diagrams.disjunction([whole, diagrams.negation(whole)]) == ALL


def test_diagrams_are_sets():
    generator = np.random.default_rng(3)
    places, shape = [(2, 0), (0, 1), (1, 0)], (3, 2, 3)
    diagrams = LabelDiagrams([3, 2])
    for _ in range(30):
        tables = [generator.random(shape) < generator.random() for _ in range(2)]
        nodes = [diagrams.table(places, table) for table in tables]
        for node, table in (
            (diagrams.conjunction(nodes), tables[0] & tables[1]),
            (diagrams.disjunction(nodes), tables[0] | tables[1]),
            (diagrams.negation(nodes[0]), ~tables[0]),
        ):
            assert node == diagrams.table(places, table)  # equal sets are the same node
            for end, wanted in ((ALL, table), (NONE, ~table)):
                times = np.zeros(shape, int)
                for case in diagrams.cases(node, end):
                    masks = [
                        case.get(place, 7) >> np.arange(size) & 1 for place, size in zip(places, shape, strict=True)
                    ]
                    times += np.einsum("i,j,k->ijk", *masks)
                assert np.array_equal(times, wanted)  # the cases are disjoint, and all there are
                assert diagrams.count(node, end) == len(list(diagrams.cases(node, end)))
    assert state_bits(np.array([True, False, True] + [False] * 9 + [True])) == 0b1000000000101


@pytest.mark.parametrize("name", ["forbidden moves", "factorial"])
def test_automata_give_the_same_as_elimination(name, monkeypatch):
    case = CASES[name]
    model, corpus = trained(case, scale=1.5)
    sentence = corpus.slice(2, 3)
    known, generator = known_labellings(model, case, corpus, 2), np.random.default_rng(1)
    events = [random_event(generator, model, known)[0] for _ in range(8)]
    wanted = model.events.probability(sentence, events)[0]
    monkeypatch.setattr(predictor.ModelStructure, "comparable_method", ("automaton", ExactSettings()))
    for one, other in zip(model.events.probability(sentence, events)[0], wanted, strict=True):
        assert one.exact and (one.value, one.log) == pytest.approx((other.value, other.log), rel=1e-9, abs=1e-9)


# messages -----------------------------------------------------------------------------------------------------------


def test_where_exact_inference_does_not_fit_the_answer_says_so(monkeypatch):
    monkeypatch.setattr(predictor.inference, "largest_table", lambda settings: 1)
    case = CASES["skip chain"]
    text = case.text.replace("infer exact", "infer trp")
    model, corpus = trained(Case(text, case.sentences, joins=case.joins))
    for s in range(1, corpus.num_sentences):
        sentence = corpus.slice(s, s + 1)
        one, other = model.events.probability(sentence, ["y[1] is P and y[2] is Q", "not (y[1] is P and y[2] is Q)"])[0]
        assert not one.exact and one.value + other.value == pytest.approx(1.0)
        assert 0.0 < one.value < 1.0


WRONG = {
    "y[3 is P": "unclosed-bracket",
    "y is P": "no-such-position",
    "y[0] is P": "no-such-position",
    "y[-1] is P": "no-such-position",
    "y[1..2] is P": "no-such-position",
    "y[9] is P": "no-such-position",
    "y[9] = gold": "no-such-position",
    "y[1] is Pe": "no-such-state",
    "y[1] in {P, Pe}": "no-such-state",
    "y[1] = Pe": "no-such-state",
    "u[1] is P": "bad-event",
    "word[1] is a": "bad-event",
    "y[1] = word[1]": "bad-event",
    "word = gold": "bad-event",
    "lower(y)[1] is P": "bad-event",
    "segment(y, 1, 2, P)": "bad-event",
    "P": "bad-event",
    "": "bad-event",
    "y[1] is P when y[2] is P": "bad-event",
    "y[1] is P\nlabel z": "bad-event",
}


@pytest.mark.parametrize("event", WRONG)
def test_a_bad_event_is_refused_with_its_place(event):
    model, corpus = trained(CASES["chain"])
    with pytest.raises(DcrfError) as caught:
        model.events.probability(corpus.slice(3, 4), event)
    (problem,) = caught.value.diagnostics
    assert problem.slug == WRONG[event] and problem.primary is not None
    assert problem.help or problem.slug == "unclosed-bracket"
    span = problem.primary.span
    assert span.source.text == event.strip() and 0 <= span.start <= span.end <= len(event)


def test_labellings_are_compared_by_an_equals_sign():
    model, corpus = trained(CASES["chain"])
    for event, help in (
        ("y[1] is gold", "write `y[3] = gold`, with `=`"),
        ("y[1] = predict", "did you mean `predicted`?"),
    ):
        with pytest.raises(DcrfError) as caught:
            model.events.probability(corpus.slice(3, 4), event)
        assert caught.value.diagnostics[0].help == help


def test_places_of_mistakes():
    model, corpus = trained(CASES["chain"])
    for event, part in (("y[1] is P and y[2] is Pe", "Pe"), ("not (y[1] is P or u[2] is Q)", "u[2]")):
        with pytest.raises(DcrfError) as caught:
            model.events.probability(corpus.slice(3, 4), event)
        assert caught.value.diagnostics[0].primary.span.text == part


def test_segments_that_there_cannot_be():
    model, corpus = trained(CASES["segments"])
    for event, words in (
        ("segment(y, 1, 2, Y)", "no segments of type"),
        ("segment(y, 2, 1, X)", "no segment reaches"),
        ("segment(y, 0, 1, X)", "no segment reaches"),
        ("segment(y, 1, 9, X)", "no position 9"),
        ("segment(y, 1, X)", "not the arguments"),
        ("segment(y[1], 1, 2, X)", "not the arguments"),
        ("segment(y, 1, 2, X)[1]", "not the arguments"),
        ("segment(y, 1, last = 2, X)", "not the arguments"),
    ):
        with pytest.raises(DcrfError, match=words):
            model.events.probability(corpus.slice(0, 1), event)


def test_too_many_cases_are_refused(monkeypatch):
    monkeypatch.setattr(event_probabilities, "MOST_CASES", 3)
    model, corpus = trained(CASES["chain"])
    length = int(corpus.lengths().max())
    number = int(corpus.lengths().argmax())
    event = " and ".join(f"y[{t}] = y[{t + 1}]" for t in range(1, length))
    assert (
        model.events.probability(corpus.slice(number, number + 1), event)[0].value > 0.0
    )  # three cases: all P, all Q, all R
    monkeypatch.setattr(event_probabilities, "MOST_CASES", 2)
    with pytest.raises(DcrfError, match="falls into 3 cases, and at most 2"):
        model.events.probability(corpus.slice(number, number + 1), event)


def test_sentences_without_a_labelling_or_gold():
    case = Case(
        "data conll(word, y)\nlabel y in {P, Q}\nclique y: word\nforbid y is P\nforbid y is Q and word is b\n",
        [[("a", "Q")], [("a", "Q")]],
    )
    model, _ = trained(case)
    with pytest.raises(DcrfError, match="no labelling satisfies"):
        model.events.probability(Case(case.text, [[("b", "Q")]]).corpus(), "y[1] is Q")
    with pytest.raises(DcrfError, match="no gold labels"):
        model.events.probability(["a"], "gold")
    with pytest.raises(DcrfError, match="no token"):
        model.events.probability([], "predicted")
    with pytest.raises(TypeError, match="events, or one event"):
        model.events.probability(["a"], 3)
