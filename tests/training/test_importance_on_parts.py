"""`importance` on data in parts: the objective of the same data in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_parts import CHAIN, in_memory, parted, untrained, written

from dcrfdsl.criteria.criteria_table import CRITERIA
from dcrfdsl.semantics import stage_settings
from dcrfdsl.semantics.resolve.resolution import load_text

STAGES = {
    "likelihood": "likelihood: importance = size",
    "costs": "likelihood: importance = size, cost = sum(hamming, segments(y, missed = 2))",
    "tokens": "pseudolikelihood: importance = tokens(size)",
    "states": 'marginal: importance = states(y, "O 0.5", "B-X 2")',
    "labels": "mce: loss = label(y), importance = tokens(size)",
}


def weighed(path: Path) -> Path:
    """The file with a number of 0 or more for each sentence in the column `size`."""
    blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    lines = []
    for n, block in enumerate(blocks):
        for line in block.splitlines():
            word, tags, _, label = line.split()
            lines.append(f"{word} {tags} {n % 4 / 2} {label}")
        lines.append("")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("case", STAGES)
def test_objectives_are_sums_over_parts(case: str, tmp_path: Path) -> None:
    resolved, path = load_text(f"{CHAIN}train {STAGES[case]}\n"), weighed(written(tmp_path, count=30))
    settings = stage_settings(resolved.require(unchecked=True))
    _, problem = in_memory(resolved, path)
    whole = CRITERIA[settings.criterion.method](problem, settings)
    summed = untrained(resolved, parted(path, resolved, tmp_path, 40))[1].summed(settings)
    weights = np.random.default_rng(5).normal(size=whole.num_weights)
    value, gradient = whole.value_and_gradient(weights)
    summed_value, summed_gradient = summed.value_and_gradient(weights)
    assert summed_value == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(summed_gradient, gradient, rtol=1e-9, atol=1e-9 * np.abs(gradient).max())
