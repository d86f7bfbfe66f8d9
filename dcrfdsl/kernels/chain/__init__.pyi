from .chain_scores import (
    ChainTables as ChainTables,
    ChainWorkspace as ChainWorkspace,
    read_by_chains as read_by_chains,
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
    scaled_sums as scaled_sums,
)
from .span_count_gradients import (
    LARGEST as LARGEST,
    LOGISTIC as LOGISTIC,
    SIGMOID as SIGMOID,
    Smoothing as Smoothing,
    smooth as smooth,
)
from .span_losses import (
    CompetitorSums as CompetitorSums,
    SegmentMarks as SegmentMarks,
    SpanLoss as SpanLoss,
    Spans as Spans,
    chain_competitors as chain_competitors,
    competitor_workspace as competitor_workspace,
    linked_competitors as linked_competitors,
)
from .viterbi import (
    COMPETITOR_ROWS as COMPETITOR_ROWS,
    chain_decode as chain_decode,
    chain_decode_competitor as chain_decode_competitor,
    decode_scores as decode_scores,
    moves_of as moves_of,
    sum_rows as sum_rows,
)
