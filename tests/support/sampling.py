"""Selects the cases that run every time: the fewest that cover every value of every parameter. The rest are `long`.

The tests of a file share the work: 26 templates by nine tests are 234 cases, of which 27 cover each template once and
each test three times. Cases whose kernels compile for long and serve few other tests are `long` too: first of
all what goes by inference methods that are seldom used. Not here: tests that take long in every case, which are marked
where they are defined.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any
from zlib import crc32

import pytest

ROOMS = ("criteria", "end_to_end", "export", "features", "inference", "kernels", "model", "optimizers", "training")
SELDOM = (
    "mean_field",
    "trw",
    "gbp",
    "ep",
    "gibbs",
)  # inference methods whose kernels take a minute to compile, most of it theirs alone
RARE = {  # a file below tests/: names of tests whose kernels take 3 to 30 seconds to compile, as a regular expression
    "cli/test_cli.py": r"log_z_alone_is_a_line\[(bp|trp)|infer_says_when_a_method_did_not_converge",  # messages of .uai
    "criteria/test_all_criteria.py": (
        r"\[(marginal|mce.*(loss|psi = inf|segments)|hmsvm, zero_one.*factorial)"  # tangents, competitors
    ),
    "criteria/test_coupled_spans.py": r"^test_",  # competitors
    "criteria/test_criteria.py": r"\[seen transitions",  # lattices
    "criteria/test_hmsvm.py": r"on_loops_messages",
    "criteria/test_large_pieces.py": r"^test_",  # pieces as graphs of their own
    "criteria/test_mce.py": r"large_psi|under_messages|filled_in",  # competitors
    "criteria/test_offsets_in_criteria.py": r"mce|marginal",  # competitors, tangents
    "criteria/test_perceptron.py": r"\[(bp|trp)\]",
    "criteria/test_risks.py": r"marginal|no_number|propositions",  # tangents; messages in log space
    "criteria/test_segment_errors.py": r"^test_",  # competitors
    "criteria/test_softmax_margin.py": r"\[.*(bp|trp|pruned)",  # messages, lattices
    "crfsuite/test_trainer.py": r"\[l2sgd\]|training_is_deterministic",
    "documentation/test_commands.py": r"--method trp|--nodes",  # messages of .uai, bounds
    "documentation/test_docstrings.py": r"\[TrainedModel\.(calibrated|log_likelihood|rank_risk|sample)\]",  # lattices
    "end_to_end/test_combinations.py": r"combination_trains|completed_by_messages",  # .ci/run has them interpreted too
    "end_to_end/test_hidden.py": r"scores_are_those_of_labels\[memories",
    "end_to_end/test_random_templates.py": r"_draws|(best_labellings|keep_to_given).*(latent|hierarchical)",
    "inference/test_automata.py": r"^test_",
    "inference/test_bounds.py": r"^test_",  # bounds on scores
    "inference/test_contradictions.py": r"every_method_that_labels|lists_the_sentence\[(pruned|bp|trp)",
    "inference/test_nbest.py": r"is_approximate|_draws_|no_labelling_satisfies|n_best_of_every_family",
    "inference/test_pruned.py": r"^test_",  # lattices
    "inference/test_pruned_guides.py": r"^test_",
    "inference/test_schedules.py": r"_are_damped_",  # damped messages
    "inference/test_segment_models.py": r"^test_",  # sums over segments
    "inference/test_segments.py": r"sums|best|huge",
    "training/test_checkpoints.py": r"\[trp\]",  # messages
    "training/test_parts.py": r"\[marginal\]",  # tangents
    "kernels/test_automaton.py": r"^test_",
    "kernels/test_fast_paths.py": r"\[(bp|trp) ",  # labellings by messages
    "model/test_calibration.py": r"and_samples_go",
    "model/test_stage_guides.py": r"^test_(?!formatted|python)",  # lattices
    "model/test_files_of_earlier_versions.py": r"messages|mean|bp|ep\]|tr[pw]|gibbs|certified|pruned|mce|exp|marginal",
    "templates/test_templates.py": (
        r"trains_saves.*\[(hierarchical|proven|.*factorial|morphology|semi_markov|tagger)|comparison_trains\[(boosted|errors)"
    ),
    "training/test_trainable.py": r"\[(marginal|mce)",
}
FEWEST = 2  # cases of a test that run every time, if it has as many

Values = frozenset[tuple[str, Hashable]]


def values_of(parameters: dict[str, Any]) -> Values:
    return frozenset((name, value if isinstance(value, Hashable) else id(value)) for name, value in parameters.items())


def cover(tests: Mapping[str, Mapping[str, Values]]) -> set[str]:
    """Names of cases in which every value occurs, at least `FEWEST` of each test; tests take turns to cover the rest.

    tests: the cases of each test, name -> values.

    >>> tests = {t: {f"{t}{x}": frozenset({("x", x)}) for x in "abcdef"} for t in "ST"}
    >>> sorted(name[0] for name in cover(tests))
    ['S', 'S', 'S', 'T', 'T', 'T']
    >>> sorted(name[1] for name in cover(tests))
    ['a', 'b', 'c', 'd', 'e', 'f']
    """
    missing = {value for cases in tests.values() for values in cases.values() for value in values}
    left = {test: sorted(cases, key=lambda name: crc32(name.encode())) for test, cases in tests.items()}
    taken: set[str] = set()
    turn = 0
    while missing or turn < FEWEST:
        for test, cases in tests.items():
            if not left[test]:
                continue
            best = max(left[test], key=lambda name: len(cases[name] & missing))
            if turn < FEWEST or cases[best] & missing:
                taken.add(best)
                left[test].remove(best)
                missing -= cases[best]
        turn += 1
    return taken


def some(cases: Iterable[Any], count: int) -> list[Any]:
    """The cases of a list as parameters; `count` of them, chosen by a hash of their content, run every time."""
    every = list(cases)
    kept = sorted(range(len(every)), key=lambda n: crc32(repr(every[n]).encode()))[:count]
    return [case if n in kept else pytest.param(case, marks=pytest.mark.long) for n, case in enumerate(every)]


def mark_rest(items: Sequence[pytest.Item]) -> None:
    """Marks the cases as `long` that are not in the cover of their file."""
    files: dict[str, dict[str, dict[str, Values]]] = defaultdict(lambda: defaultdict(dict))
    for item in items:
        if item.path.parent.name in ROOMS and hasattr(item, "callspec") and not item.get_closest_marker("long"):
            files[str(item.path)][item.nodeid.partition("[")[0]][item.nodeid] = values_of(item.callspec.params)
    kept = {name for tests in files.values() for name in cover(tests)}
    left_out = {name for tests in files.values() for cases in tests.values() for name in cases} - kept
    for item in items:
        if item.nodeid in left_out:
            item.add_marker("long")


def mark_seldom(items: Sequence[pytest.Item]) -> None:
    """Marks the cases as `long` whose name has one of the methods of `SELDOM`, and those of `RARE`."""
    for item in items:
        rare = RARE.get("/".join(item.path.parts[-2:]))
        parameters = item.name.partition("[")[2].replace(" ", "_")
        if any(method in parameters for method in SELDOM) or (rare and re.search(rare, item.name)):
            item.add_marker("long")
