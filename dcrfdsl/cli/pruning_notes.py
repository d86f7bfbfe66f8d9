"""What pruned inference left out, in words; a warning where that is what is right, or where nobody knows.

Not here: the counts and the bound (`inference.run`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..inference import PruningReport

MANY_PRUNED = 0.1  # of the sentences, with gold labels that were pruned
NO_BOUND = 0.9  # of a sentence's probability: a bound that leaves open whether much was pruned
LESS_PRUNING = "a lower `threshold` or a larger `keep` of `infer pruned` prunes less"


def pruning_notes(report: PruningReport, sentences: int) -> Iterator[str]:
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
