"""Training data in parts on the command line: `--memory`, `--cache`, several files, folders, and machines to compute.

Not here: what `train` does with them (`train_command`), parts (`training.parts`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .console import Talk, refuse
from .inputs import STDIN
from .output_clashes import Output, refuse_clash

if TYPE_CHECKING:
    from ..semantics import Resolved
    from ..training import CorpusParts


class PartOptions(NamedTuple):
    """What the command line says of parts.   data: files and folders.   output: the model, beside which parts lie."""

    data: Sequence[str]
    output: Path
    memory: str | None
    cache: Path | None
    workers: int | None
    cluster: str | None

    @property
    def are_wanted(self) -> bool:
        """Whether the data is to be read in parts, and not into memory."""
        asked = (self.memory, self.cache, self.workers, self.cluster)
        return len(self.data) > 1 or any(one is not None for one in asked) or os.path.isdir(self.data[0])

    @property
    def folder(self) -> Path:
        """Where the parts lie: with `--cache` for good, else until the model is written."""
        return self.cache if self.cache is not None else Path(f"{self.output}.parts")

    @property
    def outputs(self) -> tuple[Output, ...]:
        """The folder of the parts, if any. A folder of `--cache` may be that of the data: its files stay."""
        if not self.are_wanted:
            return ()
        return (Output("-o", self.folder, beside=True),) if self.cache is None else ()

    def refuse_unusable(self) -> None:
        """Raises `DcrfError` for options that do not go together."""
        if not self.are_wanted:
            return
        if self.cache is not None:
            refuse_clash((Output("-o", self.output), Output("--cache", self.cache)), ())
        if STDIN in self.data:
            remedy = "write it to a file first, or leave `--memory`, `--cache`, `--workers` and `--cluster` out"
            refuse("no-file", "data in parts is read from files, and `-` is standard input", remedy)
        if self.workers is not None and self.cluster is not None:
            message = "`--workers` starts processes of its own, and `--cluster` names those that run"
            refuse("idle-option", message, "leave one of them out")
        if self.memory is not None:
            from ..training import parse_memory

            parse_memory(self.memory)

    def forget(self) -> None:
        """Removes parts that nobody asked to keep."""
        if self.are_wanted and self.cache is None:
            from ..training import remove_parts

            remove_parts(self.folder)

    @contextmanager
    def machines(self, threads: int | None) -> Iterator[Any]:
        """The client of the cluster that computes; None for this process."""
        if self.workers is None and self.cluster is None:
            yield None
            return
        from ..training import cluster_client

        with cluster_client(self.cluster, self.workers, threads) as client:
            yield client


def opened_parts(options: PartOptions, resolved: Resolved, stage: str | None, cluster: Any, talk: Talk) -> CorpusParts:
    """The training data in parts. Prints the warnings of the reader."""
    from ..training import open_parts, refuse_unsummed_stages

    refuse_unsummed_stages(resolved.spec, stage)
    parts = open_parts(options.data, resolved, cache=options.folder, memory=options.memory, cluster=cluster)
    for warning in parts.warnings:
        talk(f"warning: {warning}")
    count = len(parts.parts)
    talk(f"{parts.num_tokens:,} tokens in {count:,} {'part' if count == 1 else 'parts'} in {options.folder}")
    return parts
