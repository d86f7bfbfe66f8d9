"""What a specification says of itself: a line, or HTML for a notebook. Not here: its parts (`model_spec`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from .expressions import Frozen

if TYPE_CHECKING:
    from .model_spec import ModelSpec


class ShownSpec(Frozen):
    """The base of `ModelSpec`."""

    def __repr__(self) -> str:
        spec = cast("ModelSpec", self)
        parts = [f"labels {', '.join(label.name for label in spec.labels) or 'none'}", f"{len(spec.cliques):,} cliques"]
        if spec.stages:
            parts.append(f"stages {', '.join(stage.label for stage in spec.stages)}")
        return f"<{type(self).__name__}: {'; '.join(parts)}>"

    def _repr_html_(self) -> str:
        """For notebooks: the canonical template."""
        from .spec_display import spec_html  # here, as it loads the highlighter

        return spec_html(cast("ModelSpec", self))
