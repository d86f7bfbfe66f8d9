"""A warning where pruned inference goes by a view that the data leaves with one state: it tells nothing.

What a template alone tells of `by` is checked before (`semantics.checks.pruning_rules`). Not here: pruning itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..features import view_label, view_map
from ..foundation import Diagnostic, quoted_names
from ..semantics import LocatedSpec, MethodSettings, Path, PrunedSettings, inference_settings, stage_settings


def idle_guides(located: LocatedSpec, states: Mapping[str, Sequence[str]]) -> Iterator[Diagnostic]:
    """A warning for each view of one state that prunes.   states: of every label."""
    spec = located.spec
    settings: list[tuple[MethodSettings, Path]] = [(inference_settings(spec), ("infer",))]
    settings += [
        (own, ("stages", n))
        for n, stage in enumerate(spec.stages)
        if (own := stage_settings(spec, stage.label).infer) is not None
    ]
    seen = {
        view.name: view_map(spec, view, states[label]).states
        for view in spec.views
        if (label := view_label(spec, view)) is not None
    }
    for asked, path in settings:
        if not isinstance(asked, PrunedSettings) or asked.by is None or len(seen.get(asked.by, "ab")) > 1:
            continue
        others = [name for name, values in seen.items() if len(values) > 1]
        instead = f"write `by = {others[0]}`, a view with {len(seen[others[0]]):,} states, or " if others else ""
        yield Diagnostic(
            "idle-guide",
            f"`pruned` goes by the view `{asked.by}`, which has one state in this data, "
            f"{quoted_names(seen[asked.by])[0]}: what neighbours tell does not decide which labels survive",
            located.spans.label(*path, text="one state"),
            help=f"{instead}leave out `by`",
            severity="warning",
        )
