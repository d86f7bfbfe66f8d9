from .integrations import (
    learning_curve as learning_curve,
    posteriors as posteriors,
    reliability as reliability,
    risk_coverage as risk_coverage,
    transitions as transitions,
    unrolled as unrolled,
)
