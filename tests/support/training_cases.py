"""Objectives of small templates as training builds them, and data of the rib/rob automaton."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from template_cases import Case

from dcrfdsl.criteria.criteria_table import CRITERIA
from dcrfdsl.criteria.criterion import Criterion
from dcrfdsl.criteria.training_problem import TrainingProblem
from dcrfdsl.inference import Workers
from dcrfdsl.semantics.settings.settings_reading import stage_settings
from dcrfdsl.semantics.settings.training_settings import TrainSettings
from dcrfdsl.training.untrained_model import assemble


def problem_of(case: Case, criterion: str, *overrides: str, threads: int = 1) -> tuple[TrainingProblem, TrainSettings]:
    """The problem from which a criterion is built, and the settings of its stage."""
    case = replace(case, text=f"{case.text}\ntrain {criterion}\n")
    resolved, corpus = case.resolved(*overrides), case.corpus()
    spec = resolved.require()
    parts = assemble(spec, corpus, resolved.directories, {})
    parameters, counts = parts.learn_parameters()
    problem = TrainingProblem(
        spec, parts.graph, parameters, parts.rows, parts.relations, corpus.sentence_off, parts.gold, counts,
        Workers(threads), weights=np.zeros(parameters.num_weights),
        states=tuple(parts.states[name] for name in parts.graph.variables), extractor=parts.extractor,
    )  # fmt: skip
    return problem, stage_settings(spec)


def objective_of(case: Case, criterion: str, *overrides: str, threads: int = 1) -> Criterion:
    problem, settings = problem_of(case, criterion, *overrides, threads=threads)
    return CRITERIA[criterion](problem, settings)


def many(case: Case, times: int) -> Case:
    """A case with its sentences repeated `times` times."""
    return replace(case, sentences=case.sentences * times)


# Lafferty 2001, figure 1: `rib` by the states 1, 2, 3 and `rob` by 4, 5, 3.
PATHS = {"rib": "123", "rob": "453"}
SYMBOLS = "ribo"


def noisy_words(count: int, words: tuple[int, ...] = (1,), seed: int = 0) -> list[Any]:
    """Sentences of `words` words each, in turn; each symbol is replaced by another with probability 3/32."""
    generator = np.random.default_rng(seed)
    sentences = []
    for n in range(count):
        sentence = []
        for _ in range(words[n % len(words)]):
            word = "rib" if generator.random() < 0.5 else "rob"
            for symbol, state in zip(word, PATHS[word], strict=True):
                others = [other for other in SYMBOLS if other != symbol]
                seen = symbol if generator.random() < 29 / 32 else others[generator.integers(3)]
                sentence.append((seen, state))
        sentences.append(sentence)
    return sentences


RIB_ROB = """
data conll(symbol, state)
label state
clique state: symbol
clique state[-1], state with edges = pad
"""
