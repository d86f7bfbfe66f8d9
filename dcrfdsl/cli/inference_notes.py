"""Notes for people on what inference did and does: what is proven, what was pruned, how a model decodes, compiling.

Not here: the counts and bounds (`inference`), the proofs (`inference.decoding`), the compiled code (`kernels`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator

from .. import inference, model as models, semantics
from ..foundation import figure
from .console import Talk


def bound_note(status: inference.RunStatus) -> str:
    """On how many sentences the labels are proven to be the best, and the mean gap on the others."""
    if status.certified == status.bounded:
        return f"note: the labels of all {status.bounded:,} sentences are proven to be the best"
    return (
        f"note: the labels of {status.certified:,} of {status.bounded:,} sentences are proven to be the best; on the "
        f"others no labels score more than {figure(status.mean_gap)} above those found, on average"
    )


def unsettled_note(status: inference.RunStatus) -> str:
    return (
        f"warning: inference did not converge on {status.not_converged:,} of {status.graphs:,} sentences "
        f"(largest change {status.residual:.1e}); their labels are the best that was found"
    )


def compared_note(count: int) -> str:
    """On how many sentences nothing proves that no other labels are likelier than those of a model with latents."""
    sentences = f"{count:,} sentence{'s' * (count != 1)}"
    return (
        f"note: latent variables are summed out: the labels of {sentences} are the likeliest of those that were "
        "compared, and nothing proves that no others are likelier"
    )


MANY_PRUNED = 0.1  # of the sentences, with gold labels that were pruned
NO_BOUND = 0.9  # of a sentence's probability: a bound that leaves open whether much was pruned
PRUNED_LIKELIHOOD = "note: log likelihoods are too high: exact inference does not fit, `pruned` leaves labellings out"
LESS_PRUNING = "a lower `threshold` or a larger `keep` of `infer pruned` prunes less"


def pruning_notes(report: inference.PruningReport, sentences: int) -> Iterator[str]:
    """The notes and warnings on a pruned run, a line each; none if it was not pruned.   sentences: in all."""
    if not report.positions:
        return
    kept, possible = report.kept / report.positions, report.possible / report.positions
    yield f"note: inference was pruned to {kept:.1f} of {possible:.0f} labels a token"
    if report.judged:
        of_all = f" whose gold labels are all states of the model, of {sentences:,}" * (report.judged != sentences)
        many = report.early > MANY_PRUNED * report.judged
        words = f"gold labels were pruned in {report.early:,} of {report.judged:,} sentences{of_all}"
        yield f"warning: {words}, where they cannot be found; {LESS_PRUNING}" if many else f"note: {words}"
    lost = float(f"{100 * report.lost / max(1, sentences):.2g}")  # two digits, and no exponent for 100
    if report.lost > NO_BOUND * sentences:
        yield (
            "warning: how much of the probability was pruned is not known: the bound, "
            f"{lost:g} % of a sentence's on average, says nothing; {LESS_PRUNING}"
        )
    else:
        yield f"note: what was pruned has at most {lost:g} % of the probability of a sentence, on average"


def decode_words(rule: str, criterion: str) -> str:
    """A decoding rule that follows from the criterion, in words."""
    return f"`{rule}`, which `{criterion}` trains for; a `decode` statement says otherwise"


def earlier_notes(model: models.TrainedModel, stage: str | None) -> list[str]:
    """The notes of the record on the stages before the last one.   stage: the last one, as it was asked for."""
    count = len(semantics.stage_chain(model.spec, stage)) - 1
    return [note for record in model.record.before[-count:] for note in record["notes"]] if count else []


def training_notes(model: models.TrainedModel) -> Iterator[str]:
    """Notes on a trained model beyond its scores."""
    rule = semantics.decode_rule(model.spec, model.record.stage or None)
    if rule.trained is not None and rule.name == model.decode:
        yield f"note: labels are decoded by {decode_words(rule.name, rule.trained)}, or `--decode` of `tag` and `eval`"
    elif rule.trained is not None:
        yield (
            f"note: labels are decoded by `{model.decode}`: the search for `{rule.name}`, which `{rule.trained}` "
            "trains for, would not fit"
        )
    if model.voters is not None:
        yield (
            f"{len(model.voters):,} weight vectors vote on each labelling, so tagging takes as many times as long; "
            "`voters = N` keeps the N that lasted longest"
        )
    if model.keeps_once_by_search:
        yield f"note: `once {model.spec.onces[0].label}` is {semantics.once_words(model.spec, model.states)}"
    fit = model.record.calibration
    if fit is not None:
        yield (
            f"probabilities: scores times {fit.temperature:.4g}, as fits {fit.sentences:,} held-out sentences best "
            f"(log-likelihood {figure(fit.after)}; of the scores as they are {figure(fit.before)})"
        )
    elif model.record.settings.get("criterion", {}).get("cost"):
        yield "note: costs bias probabilities on purpose, and `dcrfdsl calibrate` fits them to held-out data"


def threshold_lines(thresholds: Iterable[models.Threshold]) -> Iterator[str]:
    """What sets hold, and which predictions are taken unseen."""
    for one in thresholds:
        name = f"{one.label}.{one.type}" if one.type else one.label or "labels"
        least = "at any probability" if one.least is None else f"from probability {one.least:.4g} on"
        what = f"sets of {one.of} hold" if one.use == "cover" else "taken unseen"
        many = f"{one.count:,} sentences" if one.use == "cover" else f"{one.count:,} taken"
        yield f"{name}: {what} {least}; {one.use} {one.target:g}, on held-out data {one.found:.4f} ({many})"


_FORGET: list[Callable[[], None]] = []  # ends what the last command in this process announces


def announce_compiling(talk: Talk) -> None:
    """Says on a terminal, once, that kernels are being compiled, which delays the first use after an install."""
    while _FORGET:
        _FORGET.pop()()
    if not sys.stderr.isatty() or talk.quiet:
        return
    from numba.core.event import Event, Listener, register, unregister  # takes long to load

    class Announcer(Listener):
        said = False

        def on_start(self, event: Event) -> None:
            if not self.said:
                self.said = True
                talk("compiling kernels, once after an install (or ahead, by `dcrfdsl compile`): up to half a minute …")

        def on_end(self, event: Event) -> None:
            pass

    announcer = Announcer()
    register("numba:compile", announcer)
    _FORGET.append(lambda: unregister("numba:compile", announcer))
