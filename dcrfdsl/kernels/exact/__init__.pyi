from .checkpointing import blocked_decode as blocked_decode, blocked_expectations as blocked_expectations
from .contraction import (
    backward_log as backward_log,
    forward_log as forward_log,
    forward_max as forward_max,
    trace_back as trace_back,
)
from .contraction_steps import best_state as best_state, operand_places as operand_places
from .forward_sampling import (
    decision_order as decision_order,
    exact_samples as exact_samples,
    sum_forward as sum_forward,
)
from .linear_sweeps import (
    backward_linear as backward_linear,
    forward_linear as forward_linear,
    sweep_memory as sweep_memory,
)
from .max_marginal_backtrace import (
    FREE as FREE,
    MIXED as MIXED,
    PathWorkspace as PathWorkspace,
    add_best_with as add_best_with,
    follow_range as follow_range,
    pass_counts as pass_counts,
    trace_range as trace_range,
)
from .max_sweeps import TurnedTables as TurnedTables, sweep_down as sweep_down, sweep_up as sweep_up
from .tangent_sweep import exact_tangents as exact_tangents
