"""Pages for parts without effect: states that do not occur, idle parts, metrics of nothing. See `pages`."""

from __future__ import annotations

from collections.abc import Mapping

IDLE: Mapping[str, tuple[str, str]] = {
    "bad-name": (
        "A model that was made in Python has a name or state that reads as something else in a template.",
        "Rename it: names are letters, digits and `_`.",
    ),
    "bad-specification": (
        "A specification that was made in Python has a field that no template could give it, or cannot be written.",
        "Build it with `dcrfdsl.Template`, or read it from a text with `load_text`; `model_copy` looks at nothing.",
    ),
    "idle-constant": (
        "No setting, feature or other constant in use names this constant: its value changes nothing.",
        "Name it where its value is meant to count, or remove it.",
    ),
    "idle-group": (
        "No clique lists this group of features, itself or by way of another group: the model does not see them.",
        "List the group in a clique, or remove it. Groups of a file that is used by `use` may stay idle.",
    ),
    "metric-of-nothing": (
        "A metric counts what the data does not have, such as segments where all is outside; its value says nothing.",
        "Score on data that has what is measured, or choose another metric.",
    ),
    "one-state": (
        "A label with a single state is always right, and a model of it learns nothing.",
        "Declare its other states, or look whether the data has its values in another column.",
    ),
    "same-clique": (
        "Two cliques have the same variables and features, or neither has a name and both are called the same.",
        "Remove one, join their features in one list, or name them with `as NAME`.",
    ),
    "unseen-state": (
        "A label declares, or a constraint names, a state or a type of segments that the training data never has.",
        "Correct its spelling or the data's column, or remove it: what has no example is never predicted.",
    ),
}
