"""Pages on `forbid`, `require` and `once`. See `pages`."""

from __future__ import annotations

from collections.abc import Mapping

CONSTRAINTS: Mapping[str, tuple[str, str]] = {
    "contradictory": (
        "No labelling can satisfy the constraint, by itself or together with what else holds.",
        "Weaken or remove one of those that the message shows.",
    ),
    "once-not-a-label": (
        "`once` says that each segment, or state, of a label occurs at most once; what it names is no label.",
        "Name a label.",
    ),
    "once-twice": (
        "Two `once` name the same label.",
        "Join them: what may come again stands in one list after `except`.",
    ),
    "once-unknown-type": (
        "What stands after `except` is no type of the label's segments, and without segments none of its states.",
        "Name types, as `STREET` for `B-STREET` and `I-STREET`. `O` need not be named.",
    ),
    "no-bound": (
        "`decode certified` and `decode optimal` bound what any labelling scores. That needs the potentials of all "
        "labels at once, and labels alone: a latent variable is summed out, and `infer pruned` leaves most labels out.",
        "Write `decode joint`, or leave the latent variable out, or choose another `infer`.",
    ),
    "once-not-exact": (
        "`once` holds on whole sequences. Up to about nine types it is a part of the graph; with more, decoding "
        "searches for labellings that keep to it. What is named here can do neither.",
        "Write `infer exact` and `decode joint`, or bind fewer types by `except`. Beside a clique with `where` nothing "
        "keeps to `once`.",
    ),
    "already-implied": ("The constraint forbids nothing that is not forbidden already.", "Remove it, or correct it."),
    "needs-when": (
        "A `require` holds wherever it lies, whatever the data says there; a test of the data in it must then be true.",
        "A condition that must be met first is written after `when`: `require chunk is O when word is the`.",
    ),
    "label-as-argument": (
        "Functions and lexicons are evaluated on the data before anything is predicted; a label has no value then.",
        "Map the label's states by a `view` and test the view, list states in `{…}`, or use a regex.",
    ),
    "reads-too-much": (
        "A condition is tried on every combination of the states and of the readings of the data that it names.",
        "Write several constraints that read fewer things each, or let a memory keep what several positions say.",
    ),
    "no-label-in-constraint": (
        "A constraint restricts labels, and this condition reads only what is observed.",
        "Name a label in it.",
    ),
}
