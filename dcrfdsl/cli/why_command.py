"""`dcrfdsl why`: why a model gives a position its label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ..foundation import json_text
from .console import Features, Json, Quiet, Talk, refuse
from .inputs import load_model, read_features, read_sentence
from .options import Argument, Option

if TYPE_CHECKING:
    from rich.table import Table

    from ..data import Corpus
    from ..model import Contribution, Explanation, TrainedModel

SMALL = 5e-3  # smaller contributions would lose most of their digits with two decimals


def why(
    model: Annotated[str, Argument("MODEL", help="Model file.")],
    data: Annotated[str, Argument("DATA", help="Data, with labels or without; - is stdin.")],
    at: Annotated[int, Option("--at", min=1, metavar="T", help="Which position of the sentence, from 1.")],
    sentence: Annotated[int, Option("--sentence", "-n", min=1, metavar="N", help="Which sentence, from 1.")] = 1,
    label: Annotated[
        str | None, Option("--label", metavar="NAME", help="Which label, where there are several.")
    ] = None,
    against: Annotated[
        str | None, Option("--against", metavar="STATE", help="Compare with this state (default: the likeliest other).")
    ] = None,
    top: Annotated[int, Option("--top", min=1, metavar="N", help="The N largest contributions.")] = 20,
    features: Features = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Explain a prediction: why this label, and not another one.

    Compares the best labelling that has the model's label at a position with the best one that has another state there.
    The difference of their scores is the sum of what each feature of each clique adds to it, in nats: a feature's value
    times the difference of its weights. Neighbours count by the cliques that join them to the position.

    With --json one object: both states with their probabilities and labellings, the margin, all contributions, and the
    fewest features whose removal puts the other labelling ahead.

    \b
    Example:
      dcrfdsl why chunk.model test.txt --sentence 2 --at 2
      dcrfdsl why chunk.model test.txt --sentence 2 --at 1 --against I --top 5
    """
    from ..model import probability_notes

    talk = Talk(quiet)
    trained = load_model(model, read_features(features))
    corpus = read_sentence(data, trained.spec, sentence)
    if at > corpus.num_tokens:
        count = f"{corpus.num_tokens:,} token{'s' * (corpus.num_tokens != 1)}"
        refuse("no-such-position", f"sentence {sentence:,} of `{data}` has {count}, there is no position {at:,}")
    explanation = trained.explain(corpus, at - 1, label=label, against=against)
    if as_json:
        print(json_text({"sentence": sentence, **_as_json(explanation)}))
        return
    for note in probability_notes(trained):
        talk(note)
    _print(explanation, _word(trained, corpus, at - 1), top)


def _word(model: TrainedModel, corpus: Corpus, position: int) -> str:
    """The text of a position in the first column of texts that is no label; empty if there is none."""
    from ..data import InternedColumn

    for name, column in corpus.columns.items():
        if isinstance(column, InternedColumn) and name not in model.labels:
            return column.text(position)
    return ""


def _as_json(explanation: Explanation) -> dict[str, object]:
    def plain(contribution: Contribution) -> dict[str, object]:
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


def _print(explanation: Explanation, word: str, top: int) -> None:
    from ..foundation import printable
    from ..model import explanation_remarks, explanation_verdict
    from .report import print_table

    one, other = explanation.probabilities
    token = f" `{printable(word)}`" if word else ""
    print(
        f"position {explanation.position + 1}{token}: {explanation.label} is {printable(explanation.chosen)} "
        f"(probability {one:.3g}), not {printable(explanation.runner_up)} ({other:.3g})"
    )
    for line in explanation_remarks(explanation):
        print(printable(line))
    print()
    print_table(_table(explanation, top))
    print()
    for line in explanation_verdict(explanation):
        print(printable(line))


def _table(explanation: Explanation, top: int) -> Table:
    """The largest contributions, those of the others together, and the margin."""
    from rich.table import Table
    from rich.text import Text

    from ..foundation import printable
    from ..model import contribution_words

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("score", justify="right", no_wrap=True)
    for heading in ("clique", "at", "states", "feature"):
        table.add_column(heading, overflow="fold")
    for one in explanation.contributions[:top]:
        table.add_row(_nats(one.score), *(Text(printable(cell)) for cell in contribution_words(one)))
    rest = explanation.contributions[top:]
    if rest:
        table.add_row(_nats(sum(one.score for one in rest)), Text(f"{len(rest):,} more"))
    table.add_row(_nats(explanation.margin), Text("in all"), style="bold")
    return table


def _nats(score: float) -> str:
    return f"{score:+.2f}" if score == 0.0 or abs(score) >= SMALL else f"{score:+.0e}"
