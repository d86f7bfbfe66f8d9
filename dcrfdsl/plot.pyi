from .integrations import (
    learning_curve as learning_curve,
    posteriors as posteriors,
    reliability as reliability,
    transitions as transitions,
    unrolled as unrolled,
)
