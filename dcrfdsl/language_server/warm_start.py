"""Asks every question once of a small template, so that the tables behind the answers are made before a key is pressed.

What is loaded then stays until the end. Python's garbage collector is told so: without that it searches all of it from
time to time, and stops every answer for a tenth of a second. Not here: the answers.
"""

from __future__ import annotations

import gc
from pathlib import Path

from .call_signatures import signature
from .completion import propose
from .cost_report import NO_COSTS
from .hover import hover
from .layout_edits import layout_edits
from .outline import symbols
from .template_index import Template, Workspace
from .template_problems import problems_of
from .word_colours import colours

SMALL = """data conll(word, y)
label y in bio(A, B)
features near: word[-1..1] & lower(word), suffix(word, 1..3)
clique y[-1], y as chain: near, wrd
train likelihood: prior = gaussian(variance = 1)
"""
COLLECTIONS = 2_000, 5, 1_000  # allocations, and collections, before a larger collection: checks leave no cycles


def warm_start() -> None:
    """Loads what the first answers need."""
    workspace = Workspace(lambda path: None)
    template = Template.of(Path("small.dcrf"), SMALL)
    problems_of(template.path, SMALL, workspace)
    propose(template, SMALL.index("wrd"), workspace, {})
    hover(template, SMALL.index("lower"), workspace, NO_COSTS)
    signature(template, SMALL.index("1..3"))
    colours(template, workspace.names(template))
    symbols(template)
    layout_edits(SMALL)
    gc.set_threshold(*COLLECTIONS)
    gc.freeze()
