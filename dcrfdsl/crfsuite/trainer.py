"""A trainer shaped like `pycrfsuite.Trainer`: it gathers labelled sequences, trains, and writes CRFsuite's model files.

`lbfgs` takes the steps of CRFsuite, so that features, objective and log are the same. The other algorithms see the
sequences in another order. Differences, all for safety: a value that a parameter cannot have is refused, where
CRFsuite takes 0; a model that cannot be written is an error; so are values that are no finite numbers, and nothing to
train on. Messages go to standard output, as there. Not here: the training (`training_run`), the wording of its messages
(`trainer_log`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Self

from ..foundation import ensure_writable
from .items import Item, ItemSequence
from .model_file import write_crfsuite_file
from .trainer_log import TrainLogParser
from .trainer_parameters import ALGORITHMS, ALIASES, Value, meaning
from .training_data import TrainingData
from .training_run import Training


class CRFSuiteError(Exception):
    """The error of pycrfsuite for codes of its library; nothing here raises it.

    code: the number of the error.
    """

    def __init__(self, code: int):
        super().__init__("Unexpected error")
        self.code = code


class BaseTrainer:
    """Gathers sequences and trains a model; `message` receives each line of the log.

    algorithm: `lbfgs`, `l2sgd`, `ap`, `pa` or `arow`; see `select`.
    params: parameters by name; see `set_params`.
    verbose: whether messages are printed.

    >>> trainer = BaseTrainer("lbfgs", {"c2": 0.1}, verbose=False)
    >>> trainer.get("c2"), trainer.get("linesearch")
    (0.1, 'MoreThuente')
    """

    verbose: bool
    _data: TrainingData
    _algorithm: str
    _values: dict[str, Value]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """A trainer that works even if a subclass does not call `__init__`, as in pycrfsuite."""
        self = super().__new__(cls)
        self.verbose = False
        self._data = TrainingData()
        BaseTrainer.select(self, "lbfgs")
        return self

    def __init__(
        self, algorithm: str | None = None, params: Mapping[str, Any] | None = None, verbose: bool = True
    ) -> None:
        if algorithm is not None:
            self.select(algorithm)
        if params is not None:
            self.set_params(params)
        self.verbose = verbose

    # data -----------------------------------------------------------------------------------------------------------

    def append(self, xseq: Iterable[Item] | ItemSequence, yseq: Iterable[str | bytes], group: int = 0) -> None:
        """Adds a sequence of items with their labels.

        group: its number; `train` can leave a group out and measure on it.

        ValueError if there are more or fewer labels than items, TypeError for items or labels of another kind.

        >>> trainer = Trainer(verbose=False)
        >>> trainer.append([{"word": "Rome"}, ["last"]], ["B-LOC", "O"])
        """
        self._data.add(xseq, yseq, int(group))

    def clear(self) -> None:
        """Removes all sequences."""
        self._data = TrainingData()

    # parameters -------------------------------------------------------------------------------------------------------

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Chooses the training algorithm; its parameters have their defaults from then on.

        algorithm: `lbfgs`, `l2sgd` (stochastic gradient descent), `ap` (averaged perceptron), `pa` (passive aggressive)
            or `arow` (adaptive regularisation of weights).
        type: of the graph; there is only `crf1d`, a chain.

        ValueError for another name.
        """
        name = ALIASES.get(algorithm.lower(), algorithm.lower())
        if name not in ALGORITHMS or type != "crf1d":
            known = ", ".join((*ALGORITHMS, *ALIASES))
            raise ValueError(f"Bad arguments: algorithm={algorithm!r}, type={type!r}; algorithms are {known}")
        self._algorithm = name
        self._values = {parameter: entry.default for parameter, entry in ALGORITHMS[name].items()}

    def params(self) -> list[str]:
        """The names of the parameters of the algorithm."""
        return list(self._values)

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Sets parameters by name; see `set`."""
        for name, value in params.items():
            self.set(name, value)

    def get_params(self) -> dict[str, Value]:
        """The values of all parameters, by name."""
        return dict(self._values)

    def set(self, name: str, value: Any) -> None:
        """Sets a parameter of the algorithm, from a number or its text.

        ValueError if the algorithm does not have this parameter, or the parameter cannot have this value.

        >>> trainer = Trainer(verbose=False)
        >>> trainer.set("c1", "0.5")
        >>> trainer.set("c1", "much")
        Traceback (most recent call last):
        ValueError: `c1` cannot be 'much': could not convert string to float: 'much'
        """
        if name not in self._values:
            raise ValueError(f"Parameter not found: {name} = {value}")
        try:
            self._values[name] = ALGORITHMS[self._algorithm][name].read(value)
        except (TypeError, ValueError) as error:
            raise ValueError(f"`{name}` cannot be {value!r}: {error}") from None

    def get(self, name: str) -> Value:
        """The value of a parameter. ValueError if the algorithm has no such parameter."""
        self._require(name)
        return self._values[name]

    def help(self, name: str) -> str:
        """What a parameter means. ValueError if the algorithm has no such parameter."""
        self._require(name)
        return meaning(self._algorithm, name)

    def _require(self, name: str) -> None:
        if name not in self._values:
            raise ValueError(f"Parameter not found: {name}")

    # training ---------------------------------------------------------------------------------------------------

    def train(self, model: str | bytes | os.PathLike[str], holdout: int = -1) -> None:
        """Trains on the sequences, and writes the model.

        model: the file to write, for `Tagger.open`; empty: none is written.
        holdout: a group of sequences that are left out, and measured on after each iteration; -1: none.

        ValueError if there is no sequence to train on, DcrfError if the file cannot be written; before training.
        """
        if not self._data.num_sequences:
            raise ValueError("The data is empty. Call Trainer.append before Trainer.train.")
        if model:
            ensure_writable(os.fsdecode(model))
        self._before_train()
        training = Training(self._data, self._algorithm, dict(self._values), int(holdout), self.message)
        trained = training.run()
        if model:
            path = os.fsdecode(model)
            training.store(trained, lambda stored: write_crfsuite_file(stored, path))

    def message(self, message: str) -> None:
        """Receives a message of the training: a line, or a mark of progress. Override it to do more than print.

        message: the text, with its end of line.
        """
        if self.verbose:
            sys.stdout.write(message)

    def _before_train(self) -> None:
        """Called when a training begins."""


class Trainer(BaseTrainer):
    """A `BaseTrainer` whose messages are read by a parser, which calls a method for each event.

    logparser: what the last training said, as values; see `TrainLogParser`.

    Override `on_iteration` and its like to hear of events; each prints its part of the log. They are called only if the
    trainer is verbose.

    >>> trainer = Trainer(verbose=False)
    >>> trainer.append([["w=Rome"], ["w=is"]], ["LOC", "O"])
    >>> trainer.train("")
    >>> trainer.logparser.featgen_num_features, trainer.logparser.last_iteration["loss"]
    (3, 1.166593)
    """

    logparser: TrainLogParser | None = None

    def _before_train(self) -> None:
        self.logparser = TrainLogParser()

    def message(self, message: str) -> None:
        """Gives a message to the parser, and what belongs to an event to the method of the event."""
        if self.logparser is None:
            self._before_train()
        parser = self.logparser
        assert parser is not None
        event = parser.feed(message)
        if not self.verbose or event is None:
            return
        more = {"featgen_progress": (parser.featgen_percent,), "iteration": (parser.last_iteration,)}.get(event, ())
        getattr(self, f"on_{event}")(parser.last_log, *more)

    def on_start(self, log: str) -> None:
        """When training begins.

        log: the messages of this event, as in all of these methods.
        """
        sys.stdout.write(log)

    def on_featgen_progress(self, log: str, percent: int) -> None:
        """While features are made. percent: of the data that were read."""
        sys.stdout.write(log)

    def on_featgen_end(self, log: str) -> None:
        """When all features are made."""
        sys.stdout.write(log)

    def on_prepared(self, log: str) -> None:
        """Before the first iteration."""
        sys.stdout.write(log)

    def on_prepare_error(self, log: str) -> None:
        """If there is no first iteration."""
        sys.stdout.write(log)

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """After each iteration. info: its values by name; see `TrainLogParser`."""
        sys.stdout.write(log)

    def on_optimization_end(self, log: str) -> None:
        """After the last iteration."""
        sys.stdout.write(log)

    def on_end(self, log: str) -> None:
        """When the model is written."""
        sys.stdout.write(log)
