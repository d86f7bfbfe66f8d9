"""What training on data in parts may use: memory, threads, a cluster; and the model and data that it begins with.

Not here: learning (`learning`), the objective (`summed_criterion`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...features import RegisteredFeature
from ...foundation import DcrfError, Diagnostic, memory_in_use
from ...inference import Workers
from ...model import TrainedModel
from ...semantics import ModelSpec
from .cluster_runner import part_runner, require_shared, ship_functions
from .corpus_parts import CorpusParts
from .learning import learn_parts
from .part_trees import InTurn, PartRunner
from .parted_supervision import PartedSupervision, empty_supervision

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", re.IGNORECASE)
LEAST = 10**8  # bytes that the libraries take before any data is read, about
OPEN_BYTES = 5 * 10**8  # allowed for each further part that is open at the same time
THREADS_A_PART = 4  # more do not find enough to do in one part


def parse_memory(text: str | int) -> int:
    """Bytes of `2GB`, `500M`, `1.5GiB` or a number. DcrfError for anything else."""
    if isinstance(text, int):
        number = text
    else:
        found = _SIZE.fullmatch(text.strip())
        if found is None:
            message = f"`{text}` is no amount of memory"
            raise DcrfError(Diagnostic("bad-setting", message, help="write it as `2GB`, `500MB` or `1.5GiB`"))
        base = _UNITS[found[2].upper()]
        number = int(float(found[1]) * (1 << (10 * round(len(str(base)) / 3)) if found[3] else base))
    if number < LEAST:
        message = f"{number:,} bytes of memory are too few: the libraries alone take about {LEAST:,}"
        raise DcrfError(Diagnostic("bad-setting", message, help="write `--memory 2GB`, or what the machine has"))
    return number


@dataclass(frozen=True)
class PartResources:
    """memory: as `open_parts` takes it.   cluster: a `distributed.Client`, or None for this process."""

    memory: int | str | None = None
    cluster: Any = None

    def runner(self, threads: int) -> PartRunner:
        """What runs tasks on parts, with this number of threads in this process."""
        if self.cluster is not None:
            return part_runner(self.cluster)
        return InTurn(threads, self._at_once(threads))

    def _at_once(self, threads: int) -> int:
        """How many parts are open at the same time."""
        wanted = max(1, threads // THREADS_A_PART)
        if self.memory is None:
            return wanted
        return max(1, min(wanted, parse_memory(self.memory) // OPEN_BYTES))

    def fits(self, doing: str) -> None:
        """DcrfError if this process uses more memory than it may."""
        if self.memory is None:
            return
        used, most = memory_in_use(), parse_memory(self.memory)
        if used > most:
            message = f"{doing} takes {used / 1e9:.2f} GB of memory, and `--memory` allows {most / 1e9:.2f} GB"
            remedy = (
                "allow more; or have fewer features: `with min_count = 2` leaves out those that occur once; or train "
                "by `lbfgs(memory = 3)`, which remembers less"
            )
            raise DcrfError(Diagnostic("out-of-memory", message, help=remedy))


def untrained_on_parts(
    spec: ModelSpec,
    parts: CorpusParts,
    directories: Mapping[str, Path],
    registered: Mapping[str, RegisteredFeature],
    workers: Workers,
) -> tuple[TrainedModel, PartedSupervision]:
    """The model with all weights 0, and its training data in parts."""
    resources = PartResources(parts.memory, parts.cluster)
    if resources.cluster is not None:
        require_shared(resources.cluster, parts.cache)
        ship_functions(registered)
    runner = resources.runner(workers.threads)
    learned = learn_parts(spec, parts, directories, registered, runner, resources.fits)
    return learned.model, empty_supervision(learned, workers, runner, resources.fits)
