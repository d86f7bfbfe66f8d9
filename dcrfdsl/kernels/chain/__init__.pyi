from .chain_scores import ChainTables as ChainTables, ChainWorkspace as ChainWorkspace
from .competitors import (
    Lattice as Lattice,
    best_competitor as best_competitor,
    best_prefixes_and_suffixes as best_prefixes_and_suffixes,
)
from .forward_backward import (
    FLOOR as FLOOR,
    ChainSums as ChainSums,
    chain_expectations as chain_expectations,
    workspace_for as workspace_for,
)
from .label_tangents import chain_tangents as chain_tangents, tangent_workspace as tangent_workspace
from .online_passes import (
    CONFIDENCE as CONFIDENCE,
    PASSIVE_AGGRESSIVE as PASSIVE_AGGRESSIVE,
    PERCEPTRON as PERCEPTRON,
    AttributeChain as AttributeChain,
    gradient_pass as gradient_pass,
    mistake_pass as mistake_pass,
)
from .soft_span_losses import SoftRows as SoftRows
from .span_count_gradients import (
    LARGEST as LARGEST,
    LOGISTIC as LOGISTIC,
    SIGMOID as SIGMOID,
    GatheredCounts as GatheredCounts,
    Smoothing as Smoothing,
    propagate_counts as propagate_counts,
    smooth as smooth,
)
from .span_losses import (
    CompetitorSums as CompetitorSums,
    SegmentMarks as SegmentMarks,
    SpanLoss as SpanLoss,
    Spans as Spans,
    add_any_loss as add_any_loss,
    add_false_segments as add_false_segments,
    chain_competitors as chain_competitors,
    competitor_workspace as competitor_workspace,
)
from .two_best import COMPETITOR_ROWS as COMPETITOR_ROWS, chain_decode_competitor as chain_decode_competitor
from .viterbi import chain_decode as chain_decode
