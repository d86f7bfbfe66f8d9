from .chain_scores import ChainTables as ChainTables, ChainWorkspace as ChainWorkspace
from .forward_backward import (
    FLOOR as FLOOR,
    ChainSums as ChainSums,
    chain_expectations as chain_expectations,
    workspace_for as workspace_for,
)
from .label_tangents import chain_tangents as chain_tangents, tangent_workspace as tangent_workspace
from .span_losses import (
    LARGEST as LARGEST,
    LOGISTIC as LOGISTIC,
    SIGMOID as SIGMOID,
    CompetitorSums as CompetitorSums,
    Judging as Judging,
    SegmentMarks as SegmentMarks,
    Smoothing as Smoothing,
    Spans as Spans,
    chain_competitors as chain_competitors,
    competitor_workspace as competitor_workspace,
)
from .two_best import OTHER_ROWS as OTHER_ROWS, chain_decode_other as chain_decode_other
from .viterbi import chain_decode as chain_decode
