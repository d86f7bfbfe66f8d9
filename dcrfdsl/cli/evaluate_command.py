"""`dcrfdsl eval`: scores a model on labelled data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from .. import criteria, data as data_room, inference, metrics, model as models
from ..foundation import dataclass, json_text, render
from .command_files import data_files, load_model, prefetched, read_features, stream_gold
from .console import Talk, check_decode
from .inference_notes import PRUNED_LIKELIHOOD, bound_note, compared_note, pruning_notes, unsettled_note
from .options import Argument, Decode, Features, Json, Option, Quiet, Rounds, TableOptions, Threads, with_options

if TYPE_CHECKING:
    from .table_formats import Part

TABLES = ("by_state", "by_type", "confusion")  # metrics that are shown as tables of their own
# Metrics that are not fractions between 0 and 1, although they may be floats.
_NO_SHARES = ("log_likelihood", "illegal_moves", "rank_risk")


@dataclass(frozen=True, kw_only=True)
class EvalOptions(TableOptions):
    model: Annotated[str, Argument("MODEL")]
    data: Annotated[list[str], Argument("DATA...")]
    errors: Annotated[int, Option("N", min=0)] = 0
    confidence: bool = False
    decode: Decode = None
    rounds: Rounds = None
    threads: Threads = None
    features: Features = None
    as_json: Json = False
    quiet: Quiet = False


@with_options(EvalOptions)
def evaluate(options: EvalOptions) -> None:
    """Score a model on labelled data."""
    check_decode(options.decode)
    from .table_formats import print_parts, refuse_idle

    refuse_idle(options.format, {"--json": options.as_json, "--errors": options.errors})
    talk = Talk(options.quiet)
    trained = load_model(options.model, read_features(options.features), options.rounds)
    outcome, details = _Outcome(trained, options.threads), _Details(options, trained)
    files = data_files(options.data)
    corpora = (corpus for file in files for corpus in stream_gold(file, trained.spec, talk))
    parts = (trained.prepare(corpus) for corpus in corpora if corpus.num_tokens)
    scores = trained.scores.evaluate_parts(
        parts if options.threads == 1 else prefetched(parts),
        threads=options.threads,
        decode=options.decode,
        on_status=outcome.add,
        on_remark=lambda remark: talk(render(remark)),
        on_part=details.add if details.are_wanted else None,
    )
    outcome.warn(talk)
    for note in _segment_notes(scores):
        talk(note)
    if options.as_json:
        print(json_text({**scores, **details.as_json()}))
    else:
        print_parts([*_parts(scores, options.format), *details.parts()], options.format)
        details.print_mistakes()


def _parts(scores: Mapping[str, float | int], written: str) -> Iterator[Part]:
    """The shares as a table, and the other scores as lines; but as a table where all are tables."""
    from .report import NUMBER, TEXT, scores_table, table

    plain = {name: value for name, value in scores.items() if name.partition("(")[0] not in TABLES}
    fractions = [name for name in plain if name.partition("(")[0] not in _NO_SHARES]
    shares = {name: value for name in fractions if isinstance(value := plain[name], float)}
    if shares or plain == scores:
        yield scores_table(shares)
    bound = "≥ " if "at_least(rank_risk)" in scores else ""
    others = [
        (name.replace("_", " "), f"{bound}{value:.3g}" if name == "rank_risk" else f"{value:,}")
        for name, value in plain.items()
        if name not in shares
    ]
    as_text = "\n".join(f"{name}: {value}" for name, value in others)
    yield as_text if written == "text" else table([(TEXT, ["count"]), (NUMBER, ["value"])], others)


class _Details:
    """What is shown beside the scores: tables of labels, and sentences with mistakes.

    trained: metrics of its template that are tables are shown for their labels.
    """

    def __init__(self, options: EvalOptions, trained: models.TrainedModel) -> None:
        from .label_report import Mistakes

        self._options, self._trained, self._metrics = options, trained, trained.spec.evaluate
        self._curves: dict[str, metrics.RiskCoverage] = {}
        self._mistakes = Mistakes(options.errors)
        self._tables: dict[str, metrics.LabelTables] = {}
        self._wants_tables = options.by_label or options.confusion
        self.are_wanted = self._wants_tables or options.errors > 0 or options.confidence
        self.are_wanted |= any(call.name in TABLES for call in self._metrics)

    def add(self, evaluation: metrics.Evaluation, corpus: data_room.Corpus) -> None:
        if self._options.errors:
            self._mistakes.add(evaluation, corpus)
        if self._options.confidence:
            decode, threads = self._options.decode, self._options.threads
            for name, one in self._trained.decisions.risk_coverage(corpus, decode=decode, threads=threads).items():
                self._curves[name] = self._curves[name] + one if name in self._curves else one
        for label, tables in metrics.label_tables(evaluation, self._metrics).items():
            self._tables[label] = self._tables[label] + tables if label in self._tables else tables

    def as_json(self) -> dict[str, Any]:
        from .label_report import tables_json

        tables = {"tables": tables_json(self._tables)} if self._wants_tables else {}
        keys = "probability", "automatic", "right"
        for name, one in self._curves.items():
            rows = [dict(zip(keys, row, strict=True)) for row in one.table]
            tables.setdefault("confidence", {})[name] = {"count": len(one.right), "area": one.area, "at": rows}
        return tables | ({"errors": self._mistakes.as_json()} if self._options.errors else {})

    def parts(self) -> Iterator[Part]:
        from ..semantics import plain
        from .label_report import confusion_parts, state_parts, type_parts
        from .report import NUMBER, table

        for name, parts, is_wanted in (
            ("by_state", state_parts, self._options.by_label),
            ("by_type", type_parts, self._options.by_label),
            ("confusion", confusion_parts, self._options.confusion),
        ):
            named = {str(plain(call.arguments[0].value)) for call in self._metrics if call.name == name}
            yield from parts({label: of for label, of in self._tables.items() if is_wanted or label in named})
        for name, curve in self._curves.items():
            head = [f"{name}, at least", "automatic, %", "right, %"]
            rows = [[f"{p:g}", f"{100 * share:.1f}", f"{100 * right:.1f}"] for p, share, right in curve.table]
            yield table([(NUMBER, head)], rows)
            yield f"area under risk by coverage of {len(curve.right):,} {name}: {curve.area:.4f}"

    def print_mistakes(self) -> None:
        if self._options.errors:
            from .report import print_lines

            print_lines(*self._mistakes.lines())


class _Outcome:
    """How inference ended on the parts of the data so far, and what came of the shares that the template expects."""

    def __init__(self, trained: models.TrainedModel, threads: int | None) -> None:
        self._shares_of = partial(trained.scores.expected_shares, threads=threads)
        self._shares: list[Sequence[criteria.ExpectedShare]] = []
        names = {call.name for call in trained.spec.evaluate}
        self._overstates = "log_likelihood" in names and not trained.structure.sums_fit
        self.status, self.without = inference.RunStatus(), 0
        self.places: list[str] = []  # of the first sentences without

    def add(self, status: inference.RunStatus, corpus: data_room.Corpus) -> None:
        impossible = status.impossible
        self._shares.append(self._shares_of(corpus))
        self.status += replace(status, impossible=())
        self.without += len(impossible)
        for s in impossible[: inference.MOST_PLACES - len(self.places)]:
            self.places.append(f"{corpus.file}:{corpus.token_line[corpus.sentence_off[s]]}")

    def warn(self, talk: Talk) -> None:
        status, report = self.status, self.status.pruning
        if self.without:
            talk(f"warning: {inference.contradiction_message(self.places, count=self.without)}; nothing is right there")
        for line in pruning_notes(report, status.graphs):
            talk(line)
        if self._overstates:
            talk(PRUNED_LIKELIHOOD)
        if status.unproven:
            talk(
                f"note: on {status.unproven:,} of {status.graphs:,} sentences the search for the best labels that keep "
                "to `once` gave up: the labels keep to it, and need not be the best"
            )
        if status.compared:
            talk(compared_note(status.compared))
        if status.bounded:
            talk(bound_note(status))
        if not status.converged:
            talk(unsettled_note(status))
        for parts in zip(*self._shares, strict=True):
            places = sum(part.places for part in parts)
            share = sum(part.share * part.places for part in parts) / max(places, 1)
            talk(f"note: {parts[0]._replace(share=share, places=places).words}")


def _segment_notes(scores: Mapping[str, float | int]) -> Iterator[str]:
    for name, golds in scores.items():
        if not name.startswith("not_scored(segments("):
            continue
        metric = name.removeprefix("not_scored(").removesuffix(")")
        ours = scores[f"not_judged({metric})"]
        if golds or ours:
            yield (
                f"note: `{metric}` leaves out {golds:,} gold segment{'s' * (golds != 1)} without two known ends, "
                f"and {ours:,} predicted one{'s' * (ours != 1)} that missing or ambiguous labels leave open"
            )
