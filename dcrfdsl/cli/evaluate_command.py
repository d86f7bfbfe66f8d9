"""`dcrfdsl eval`: scores a model on labelled data."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from ..foundation import json_text, render
from .console import Decode, Features, Json, Quiet, Rounds, Talk, Threads, check_decode
from .inputs import read_features, stream_gold
from .options import Argument
from .prefetching import prefetched

if TYPE_CHECKING:
    from ..data import Corpus
    from ..inference import RunStatus

__all__ = ["evaluate"]

# Metrics that are not fractions between 0 and 1, although they may be floats.
_NO_SHARES = ("log_likelihood", "illegal_moves", "rank_risk")


def evaluate(
    model: Annotated[str, Argument("MODEL", help="Model file.")],
    data: Annotated[str, Argument("DATA", help="Data with labels; - is stdin.")],
    decode: Decode = None,
    rounds: Rounds = None,
    threads: Threads = None,
    features: Features = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Score a model on labelled data.

    By the metrics that its template names. Data of any length takes a constant amount of memory.

    \b
    Example:
      dcrfdsl eval chunk.model test.txt
      dcrfdsl eval chunk.model test.txt --json
      dcrfdsl eval chunk.model test.txt --decode joint
      cat test.txt | dcrfdsl eval chunk.model - --threads 2
    """
    check_decode(decode)
    from ..model import TrainedModel
    from .report import print_table, scores_table

    talk = Talk(quiet)
    trained = TrainedModel.load(model, registered=read_features(features))
    trained = trained if rounds is None else trained.at_round(rounds)
    outcome = _Outcome()
    parts = (trained.on(corpus) for corpus in stream_gold(data, trained.spec, talk) if corpus.num_tokens)
    scores = trained.evaluate_parts(
        parts if threads == 1 else prefetched(parts),
        threads=threads,
        decode=decode,
        on_status=outcome.add,
        on_remark=lambda remark: talk(render(remark)),
    )
    outcome.warn(talk)
    if as_json:
        print(json_text(scores))
        return
    shares = {name: value for name, value in scores.items() if isinstance(value, float) and not _is_no_share(name)}
    print_table(scores_table(shares))
    print()
    for name, value in scores.items():
        if name == "rank_risk":
            bound = "≥ " if "at_least(rank_risk)" in scores else ""
            print(f"rank risk: {bound}{value:.3g}")
        elif name not in shares:
            print(f"{name.replace('_', ' ')}: {value:,}")


class _Outcome:
    """How inference ended on the parts of the data so far."""

    def __init__(self) -> None:
        from ..inference import RunStatus

        self.status, self.without, self.places = RunStatus(), 0, list[str]()  # places of the first sentences without

    def add(self, status: RunStatus, corpus: Corpus) -> None:
        from ..inference import MOST_PLACES

        impossible = status.impossible
        self.status += replace(status, impossible=())
        self.without += len(impossible)
        for s in impossible[: MOST_PLACES - len(self.places)]:
            self.places.append(f"{corpus.file}:{corpus.token_line[corpus.sentence_off[s]]}")

    def warn(self, talk: Talk) -> None:
        """Warns about sentences without a possible labelling, or whose inference did not converge."""
        from ..inference import contradiction_message

        status, report = self.status, self.status.pruning
        if self.without:
            talk(f"warning: {contradiction_message(self.places, count=self.without)}; nothing is right there")
        if tokens := report.positions:
            kept, possible = report.kept / tokens, report.possible / tokens
            talk(
                f"note: inference was pruned to {kept:.1f} of {possible:.0f} labels a token. Gold labels were pruned "
                f"in {report.early:,} of {report.judged:,} sentences; what was pruned has at most "
                f"{100 * report.lost / max(1, status.graphs):.2g} % of the probability of a sentence, on average"
            )
        if not status.converged:
            talk(
                f"warning: inference did not converge on {status.not_converged:,} of {status.graphs:,} sentences "
                f"(largest change {status.residual:.1e}); their labels are the best that was found"
            )


def _is_no_share(name: str) -> bool:
    return name.partition("(")[0] in _NO_SHARES
