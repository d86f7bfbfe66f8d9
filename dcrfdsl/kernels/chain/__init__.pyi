from .chain_scores import ChainTables as ChainTables
from .competitors import (
    LARGEST as LARGEST,
    LOGISTIC as LOGISTIC,
    SIGMOID as SIGMOID,
    SegmentMarks as SegmentMarks,
    Smoothing as Smoothing,
    Stretches as Stretches,
    chain_rivals as chain_rivals,
    rival_room as rival_room,
)
from .forward_backward import (
    FLOOR as FLOOR,
    ChainSums as ChainSums,
    chain_expectations as chain_expectations,
    room_for as room_for,
)
from .label_tangents import chain_tangents as chain_tangents, tangent_room as tangent_room
from .two_best import OTHER_ROWS as OTHER_ROWS, chain_decode_other as chain_decode_other
from .viterbi import chain_decode as chain_decode
