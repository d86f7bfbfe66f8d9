"""The stages of a training that have ended, and the one that runs, as layers of a checkpoint.

Not here: what a stage does (`stage`), the file (`checkpoints`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..foundation import recalled
from ..model import TrainedModel, TrainingRecord
from ..optimizers import Iteration, NotNow, RunState, Voters
from .stage import Stage


@dataclass
class StageRun:
    """A stage that begins.   state: of the layers below it.   curve: its iterations before the checkpoint."""

    state: RunState
    curve: list[Iteration]
    is_ready: bool = False  # whether all that its run needs is there; before, there is nothing to go on from

    def restore_curve(self, stage: Stage) -> None:
        """To be called when the run begins, after the stage has added its features."""
        if self.curve:
            stage.curve[:] = self.curve
        self.is_ready = True


class StageRuns:
    """The stages of a training in order, which go on from what `state` has saved, if anything."""

    def __init__(self, state: RunState):
        self._state = state
        saved = state.take("stages") or {"done": [], "curve": []}
        self._saved_done: list[dict[str, Any]] = saved["done"]
        self._saved_curve = [Iteration(*step) for step in saved["curve"]]
        self._done: list[dict[str, Any]] = []

    def is_done(self, number: int) -> bool:
        """Whether stage `number` had ended at the checkpoint."""
        return number < len(self._saved_done)

    def model_after(self, number: int, model: TrainedModel) -> TrainedModel:
        """The model as it was after stage `number`, from `model`, as it was before."""
        saved = self._saved_done[number]
        self._done.append(saved)
        voters = None if saved["voters"] is None else Voters.restore(saved["voters"], model.num_weights)
        weights = recalled(saved, "weights", model.num_weights)
        return model.with_weights(weights, TrainingRecord.restore(saved["record"]), voters)

    def begin(self, number: int, stage: Stage) -> StageRun:
        """Stage `number` begins. If the checkpoint was within it, it goes on from there."""
        if self.is_done(number):  # it runs again, for what later stages need of it
            return StageRun(RunState(), [])
        run = StageRun(self._state.below("stage"), self._saved_curve if number == len(self._saved_done) else [])

        def remember() -> dict[str, Any]:
            if not run.is_ready:
                raise NotNow
            return {"done": self._done, "curve": [list(step) for step in stage.curve]}

        self._state.keep("stages", remember)
        return run

    def add(self, number: int, model: TrainedModel) -> None:
        """Stage `number` has ended with this model."""
        voters = None if model.voters is None else model.voters.arrays()
        self._done.append({"weights": model.weights, "record": asdict(model.record), "voters": voters})
