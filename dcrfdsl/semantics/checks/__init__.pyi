from .checker import check as check, in_order as in_order
from .context import LocatedSpec as LocatedSpec
from .data_formats import FORMATS as FORMATS, Format as Format
from .training_rules import (
    METRICS as METRICS,
    fits_metric as fits_metric,
    metric_usages as metric_usages,
)
