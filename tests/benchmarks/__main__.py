"""Runs benchmarks and prints them as a table; the figures also go to a JSON file.

    python tests/benchmarks                 all but those that take many minutes
    python tests/benchmarks chain tagging   by name (`--list` prints the names)

The JSON file keeps the figures of former runs whose benchmarks were not run now. `--page` writes them all as a page of
the documentation: the newest of each benchmark, with its date.

Requires the package to be installed, and the extra `bench` for the peers. Peers that are not installed and benchmarks
without their data are skipped, with the reason. With the variable CI set everything is small, runs once and is not
judged, and stands alone in its file. Exit code 1 if a target is missed, 2 if a benchmark failed; the others run all the
same.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import platform
import re
import sys
import traceback
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import addresses
import auto_choice
import automata
import candidates
import clusters
import commands
import coupled
import dialogues
import editor
import known_graphs
import large
import latency
import layers
import margins
import noun_phrases
import page
import passes
import pieces
import pruned
import scaling
import shapes
import streams
import training
from figures import Benchmark, Figure, Skip
from rich.console import Console
from rich.table import Table
from work import SMOKE

BENCHMARKS: dict[str, Benchmark] = {
    "chain": passes.chain_pass,
    "pos": passes.pos_pass,
    "errors": passes.error_pass,
    "objective": training.time_to_objective,
    "factorial": passes.factorial_pass,
    "sparse121": automata.sparse121,
    "half100": automata.half100,
    "sparse1000": automata.sparse1000,
    "second_order45": automata.second_order45,
    "second_order_tags": automata.second_order_tags,
    "memory29": automata.memory29,
    "memory_commas": automata.memory_commas,
    "sentence121": automata.sentence121,
    "dictionary": candidates.tag_dictionary,
    "partly": candidates.partly_known,
    "pruned": pruned.pruned_passes,
    "pieces": pieces.piecewise_training,
    "margins": margins.margin_training,
    "segments": noun_phrases.noun_phrases,
    "criteria": coupled.coupled_criteria,
    "shapes": shapes.shape_passes,
    "messages": passes.messages,
    "auto_choice": auto_choice.auto_choice,
    "graphs": known_graphs.clusters_of_graphs,
    "proofs": known_graphs.bounds_of_graphs,
    "trees": known_graphs.trees_of_graphs,
    "dialogues": dialogues.dialogue_passes,
    "loopy": dialogues.tied_dialogues,
    "attracted": dialogues.attracted_pairs,
    "reading": commands.reading,
    "tagging": commands.tagging,
    "streams": streams.streaming,
    "latency": latency.latency,
    "addresses": addresses.tagged_addresses,
    "loading": commands.loading,
    "start": commands.cold_start,
    "install": commands.installed_size,
    "editor": editor.editor,
    "compiling": commands.compiling,
    "first_use": commands.first_use,
    "demo": commands.demonstration,
    "memory": training.peak_memory,
    "tokens": scaling.tokens,
    "labels": scaling.labels,
    "chains": scaling.chains,
    "tree_terms": scaling.tree_terms,
    "layers": layers.layer_steps,
    "logits": layers.logit_decoding,
    "long": scaling.long_sequence,
}
BY_NAME_ONLY: dict[str, Benchmark] = {
    "sutton": training.full_factorial,
    "tags_entities": training.tags_and_entities,
    "sentence121_trained": automata.sentence121_trained,
    "large": large.in_parts,
    "clusters": clusters.by_workers,
}
PROGRAMS = (
    "dask", "fastaddress", "numba", "numpy", "pgmax", "pyagrum", "python-crfsuite", "pytorch-crf", "scipy", "torch",
    "usaddress",
)  # fmt: skip


def main() -> int:
    every = BENCHMARKS | BY_NAME_ONLY
    parser = argparse.ArgumentParser(prog="python tests/benchmarks", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="which (default: all but the longest)")
    parser.add_argument("--list", action="store_true", help="name them and stop")
    parser.add_argument("--json", type=Path, default=Path(".benchmarks/figures.json"), metavar="FILE", dest="file")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the figures as a page too")
    asked = parser.parse_args()
    if asked.list:
        for name, run in every.items():
            print(f"{name:19}  {run.__doc__}{'  (by name only)' if name in BY_NAME_ONLY else ''}")
        return 0
    unknown = [name for name in asked.names if name not in every]
    if unknown:
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(every)}")
    kept = _kept(asked.file)
    figures: dict[str, list[Figure]] = {}
    failed = []
    for name in asked.names or BENCHMARKS:
        try:
            figures[name] = _figures(name, every[name])
        except Exception:
            traceback.print_exc()
            failed.append(name)
            continue
        _write(asked.file, kept, figures)  # a run that is stopped has lost no figure
    _print([figure for table in figures.values() for figure in table])
    print(f"\n{asked.file} written")
    if asked.page:
        page.write(asked.page, kept, {name: run.__doc__ or "" for name, run in every.items()})
        print(f"{asked.page} written")
    if failed:
        print(f"failed: {', '.join(failed)}")
        return 2
    missed = any(figure.met is False for table in figures.values() for figure in table)
    return int(missed)


def _figures(name: str, run: Benchmark) -> list[Figure]:
    """The figures of one benchmark, printed as they are measured."""
    figures = []
    print(f"{name}: {run.__doc__}", flush=True)
    try:
        for figure in run():
            if SMOKE:  # too little data to judge by
                figure = dataclasses.replace(figure, target=None)
            print("   ", "  ".join(word for word in figure.row() if word), f"\n        {figure.work}", flush=True)
            figures.append(figure)
    except Skip as reason:
        print(f"    skipped: {reason}", flush=True)
    return figures


def _print(figures: list[Figure]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("what", "ours", "peer", "ratio", "target", ""):
        table.add_column(heading, justify="left" if heading in ("what", "") else "right", overflow="fold")
    for figure in figures:
        table.add_row(*figure.row())
    print()
    Console(width=None if sys.stdout.isatty() else 160).print(table)


def _kept(path: Path) -> dict[str, Any]:
    """What the file at `path` has of former runs on whole data, by benchmark."""
    if SMOKE or not path.exists():
        return {}
    before = json.loads(path.read_text(encoding="utf-8"))
    return {} if before["short"] else before.get("benchmarks", {})


def _processor() -> str:
    known = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*: (.+)", known.read_text()) if known.exists() else None
    return model[1] if model else platform.machine()


def _write(path: Path, kept: dict[str, Any], figures: dict[str, list[Figure]]) -> None:
    """Writes `kept` to `path`, after the figures of the last benchmark of `figures` have taken their place in it."""
    name, table = list(figures.items())[-1]
    programs = {}
    for program in PROGRAMS:
        with contextlib.suppress(PackageNotFoundError):
            programs[program] = version(program)
    if table or name not in kept:
        kept[name] = {
            "date": f"{date.today()}",
            "machine": f"{_processor()}, {os.cpu_count()} cores, Python {platform.python_version()}",
            "programs": programs,
            "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
            "figures": [figure.record() for figure in table],
        }
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"short": SMOKE, "benchmarks": kept}
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
