"""Questions about the labels of a sentence: `dcrfdsl why` a position has its label, and the `probability` of an event.

Not here: the answers (`model`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from .. import data as data_room, model as models, semantics
from ..foundation import json_text, printable
from .command_files import data_statement, load_model, read_features, read_sentence
from .console import Talk, refuse
from .options import Argument, Features, Json, Option, Quiet, Threads
from .report import TEXT, WHOLE, print_table, table

if TYPE_CHECKING:
    from rich.table import Table


SMALL = 5e-3  # smaller contributions would lose most of their digits with two decimals


def why(
    model: Annotated[str, Argument("MODEL")],
    data: Annotated[str, Argument("DATA")],
    at: Annotated[int, Option("T", min=1)],
    sentence: Annotated[int, Option("N", short="-n", min=1)] = 1,
    label: Annotated[str | None, Option("NAME")] = None,
    against: Annotated[str | None, Option("STATE")] = None,
    top: Annotated[int, Option("N", min=1)] = 20,
    features: Features = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Explain a prediction: why this label and not another one."""
    talk = Talk(quiet)
    trained = load_model(model, read_features(features))
    corpus = read_sentence(data, trained.spec, sentence)
    if at > corpus.num_tokens:
        count = f"{corpus.num_tokens:,} token{'s' * (corpus.num_tokens != 1)}"
        refuse("no-such-position", f"sentence {sentence:,} of `{data}` has {count}, there is no position {at:,}")
    explanation = trained.explain(corpus, at - 1, label=label, against=against)
    if as_json:
        print(json_text({"sentence": sentence, **_explanation_json(explanation)}))
        return
    for note in models.probability_notes(trained):
        talk(note)
    _print_explanation(explanation, _word(trained, corpus, at - 1), top)


def _word(model: models.TrainedModel, corpus: data_room.Corpus, position: int) -> str:
    """The text of a position in the first column of texts that is no label; empty if there is none."""
    for name, column in corpus.columns.items():
        if isinstance(column, data_room.InternedColumn) and name not in model.labels:
            return column.text(position)
    return ""


def _explanation_json(explanation: models.Explanation) -> dict[str, object]:
    def plain(contribution: models.Contribution) -> dict[str, object]:
        sites = [[variable, position + 1] for variable, position in contribution.sites]
        return {**contribution._asdict(), "sites": sites}

    first, second = explanation.labellings
    return {
        "label": explanation.label,
        "position": explanation.position + 1,
        "chosen": explanation.chosen,
        "runner_up": explanation.runner_up,
        "probabilities": list(explanation.probabilities),
        "labellings": [dict(first), dict(second)],
        "margin": explanation.margin,
        "contributions": [plain(one) for one in explanation.contributions],
        "decisive": [plain(one) for one in explanation.decisive],
        "without": explanation.without,
        "exact": explanation.exact,
        "converged": explanation.status.converged,
    }


# in words -------------------------------------------------------------------------------------------------------------


def _print_explanation(explanation: models.Explanation, word: str, top: int) -> None:
    one, other = explanation.probabilities
    likely = "over 0.999" if 0.9995 <= one < 1.0 else f"{one:.3g}"
    token = f" `{printable(word)}`" if word else ""
    print(
        f"position {explanation.position + 1}{token}: {explanation.label} is {printable(explanation.chosen)} "
        f"(probability {likely}), not {printable(explanation.runner_up)} ({other:.3g})"
    )
    for line in models.explanation_remarks(explanation):
        print(printable(line))
    print()
    print_table(_contributions(explanation, top))
    print()
    for line in models.explanation_verdict(explanation):
        print(printable(line))


def _contributions(explanation: models.Explanation, top: int) -> Table:
    """The largest contributions, those of the others together, and the margin."""
    rows = [[_nats(one.score), *models.contribution_words(one)] for one in explanation.contributions[:top]]
    rest = explanation.contributions[top:]
    if rest:
        rows.append([_nats(sum(one.score for one in rest)), f"{len(rest):,} more"])
    made = table([(WHOLE, ["score"]), (TEXT, ["clique", "at", "states", "feature"])], rows)
    made.add_row(_nats(explanation.margin), "in all", style="bold")
    return made


def _nats(score: float) -> str:
    return f"{score:+.2f}" if score == 0.0 or abs(score) >= SMALL else f"{score:+.0e}"


# probability ---------------------------------------------------------------------------------------------------------


_CLOSE = 5e-4  # nearer to 1 than this, the distance is shown


def probability(
    model: Annotated[str, Argument("MODEL")],
    data: Annotated[str, Argument("DATA")],
    events: Annotated[list[str], Argument("EVENT...")],
    sentence: Annotated[int | None, Option("N", short="-n", min=1)] = None,
    every: bool = False,
    given: bool = False,
    threads: Threads = None,
    features: Features = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say how likely a condition over the labels of a sentence is."""
    if every and sentence is not None:
        refuse("idle-option", "`--every` asks about all sentences, and `--sentence` about one", "leave out one of them")
    talk = Talk(quiet)
    trained = load_model(model, read_features(features))
    for note in models.probability_notes(trained):
        talk(note)
    estimated = failed = False
    for before, corpus in _parts(trained, data, None if every else sentence or 1, given=given):
        known = data_room.encode_known_labels(trained.spec, trained.states, corpus) if given else None
        for s, answers in enumerate(trained.events.probability(corpus, events, given=known, threads=threads)):
            estimated |= not answers[0].exact
            failed |= not answers[0].converged
            for line in _event_lines(before + s + 1, answers, as_json=as_json, numbered=every):
                print(line)
    if estimated:
        talk(_ESTIMATED)
    if failed:
        talk("warning: inference did not converge: the probabilities are rough")


_ESTIMATED = "note: exact inference does not fit: the probabilities are estimated by messages on loops"


def _parts(
    model: models.TrainedModel, path: str, number: int | None, *, given: bool
) -> Iterator[tuple[int, data_room.Corpus]]:
    """Whole sentences, and how many came before: one sentence by its number from 1, or all."""
    required, optional, before = model.labels if given else (), () if given else model.labels, 0
    if number is not None:
        yield number - 1, read_sentence(path, model.spec, number, required=required)
        return
    spare = semantics.spare_columns(model.spec)
    data = data_statement(model.spec)
    for chunk in data_room.stream_corpus(path, data, required=required, optional=optional, spare=spare, flush=False):
        if chunk.corpus.num_tokens:
            yield before, chunk.corpus
            before += chunk.corpus.num_sentences


def _event_lines(
    number: int, answers: list[models.EventProbability], *, as_json: bool, numbered: bool
) -> Iterator[str]:
    if as_json:
        yield json_text({"sentence": number, "events": [_event_json(answer) for answer in answers]})
        return
    for answer in answers:
        value = probability_text(answer)
        yield f"{number}\t{value}\t{answer.event}" if numbered else f"{value:<12} {answer.event}"


def probability_text(answer: models.EventProbability) -> str:
    """A probability with the digits that matter: `0.8731`, `1 - 3.2e-07`, `1e-412`."""
    if answer.log_not < math.log(_CLOSE):
        return "1" if answer.log_not == -math.inf else f"1 - {_power(answer.log_not)}"
    return "0" if answer.log == -math.inf else _power(answer.log)


def _power(log: float) -> str:
    """exp(log), also where it is too small for a float."""
    return f"{math.exp(log):.4g}" if log > -700.0 else f"1e{log / math.log(10.0):.0f}"


def _event_json(answer: models.EventProbability) -> dict[str, object]:
    return {
        "event": answer.event,
        "probability": answer.value,
        "log": answer.log,
        "log_not": answer.log_not,
        "exact": answer.exact,
        "converged": answer.converged,
    }
