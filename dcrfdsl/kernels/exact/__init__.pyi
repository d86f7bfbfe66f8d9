from .checkpointing import blocked_decode as blocked_decode, blocked_expectations as blocked_expectations
from .contraction import (
    backward_linear as backward_linear,
    backward_log as backward_log,
    forward_linear as forward_linear,
    forward_log as forward_log,
    forward_max as forward_max,
    trace_back as trace_back,
)
from .forward_sampling import (
    decision_order as decision_order,
    exact_samples as exact_samples,
    operand_places as operand_places,
    sum_forward as sum_forward,
)
from .tangent_sweep import exact_tangents as exact_tangents
