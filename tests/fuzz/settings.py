"""Settings at and beyond their limits: sound templates with `--set` and methods from every table, trained if clean.

A clean case is trained for a few iterations, saved, loaded and used, so that criteria, inference, optimizers and priors
meet in every combination that the checker accepts. Not here: the values (`limits`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.semantics.checks.checker import check
from dcrfdsl.semantics.resolve.resolution import load_text

from .cases import Fuzzer
from .grammar import Draw, settings_text
from .limits import METHODS, arguments_of
from .templates import messages, shown
from .tiny import is_quick, is_small, rows_of, trained_model, warm_up

PATHS = (
    "train",
    "only",
    "one",
    "two",
    "infer",
    "decode",
    "nothing",
    "train.train",
    "",
    "train.",
    "a.b.c",
    "infer.method",
)


@dataclass(frozen=True)
class SettingsCase:
    """A template, and the values of `--set` and `--stage`."""

    text: str
    overrides: tuple[str, ...]
    stage: str | None


class OddSettings(Fuzzer[SettingsCase]):
    def __init__(self, room: Path) -> None:
        super().__init__(room)
        warm_up()

    def make(self, rng: np.random.Generator) -> SettingsCase:
        draw = Draw(rng)
        text = "\n".join(draw.template()) + "\n"
        stages = [word for word in ("only", "one", "two") if f" as {word}" in text]
        overrides = tuple(self._override(draw) for _ in range(draw.pick([0, 1, 1, 1, 2, 3])))
        stage = draw.pick([*stages, "nothing"]) if draw.chance(0.15) else None
        return SettingsCase(text, overrides, stage)

    def _override(self, draw: Draw) -> str:
        match draw.below(8):
            case 0:
                return f"{draw.pick(PATHS)}={draw.value()}"
            case 1:
                return f"infer={draw.call('inference method', sound=draw.chance(0.7))}"
            case 2:
                return f"train.optimizer={draw.call('optimizer', sound=draw.chance(0.6))}"
            case 3:
                return f"train.prior={draw.call('prior', sound=draw.chance(0.6))}"
            case 4:
                return f"train.{settings_text(draw)}"
            case 5:
                table = METHODS["inference method"]
                arguments = arguments_of(
                    draw, table[draw.pick(sorted(table))], sound=draw.chance(0.6), all_of_them=True
                )
                return f"infer.{draw.pick(arguments)}" if arguments else "infer.seed=0"
            case 6:
                keys = ("seed", "restarts", "patience", "decode", "infer", "checkpoint")
                return f"train.{draw.pick(keys)}={draw.value()}"
            case _:
                table = METHODS["training criterion"]
                arguments = arguments_of(
                    draw, table[draw.pick(sorted(table))], sound=draw.chance(0.6), all_of_them=True
                )
                return f"train.{draw.pick(arguments)}" if arguments else "train.seed=1"

    def attempt(self, case: SettingsCase, rng: np.random.Generator) -> str:
        resolved = load_text(case.text, overrides=case.overrides, stage=case.stage, directory=self.room)
        diagnostics = check(resolved, stage=case.stage)
        messages(diagnostics)
        if any(d.severity == "error" for d in diagnostics):
            shown(diagnostics)
            return "refused"
        if not is_small(resolved) or not is_quick(resolved, case.stage):
            return "clean"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model, corpus = trained_model(resolved, rng, case.stage)
            model.predict(corpus)
            again = corpus_from_rows(rows_of(resolved, rng), corpus_data(resolved))
            match int(rng.integers(5)):
                case 0:
                    model.marginals(again)
                case 1:
                    model.nbest(again, 3)
                case 2:
                    model.evaluate(again)
                case 3:
                    model.save(self.room / "model")
                    type(model).load(self.room / "model").predict(again)
                case _:
                    model.predict(again)
        return "trained"

    def smaller(self, case: SettingsCase) -> Iterator[SettingsCase]:
        for n in range(len(case.overrides)):
            yield replace(case, overrides=case.overrides[:n] + case.overrides[n + 1 :])
        if case.stage:
            yield replace(case, stage=None)
        lines = case.text.rstrip("\n").split("\n")
        for n in range(len(lines)):
            yield replace(case, text="\n".join(lines[:n] + lines[n + 1 :]) + "\n")
        for n, line in enumerate(lines):
            for cut in [i for i, char in enumerate(line) if char in ",:"]:
                after = line.find(",", cut + 1)
                less = line[:cut] + (line[after:] if after > 0 else "")
                yield replace(case, text="\n".join([*lines[:n], less, *lines[n + 1 :]]) + "\n")

    def show(self, case: SettingsCase) -> str:
        words = [case.text.rstrip("\n"), *(f"--set {text!r}" for text in case.overrides)]
        return "\n".join([*words, *([f"--stage {case.stage}"] if case.stage else [])])


def corpus_data(resolved):  # type: ignore[no-untyped-def]
    data = resolved.spec.data
    assert data is not None
    return data
