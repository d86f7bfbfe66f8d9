from .boosting_bounds import least_bound as least_bound, least_bounds as least_bounds
from .descent import (
    adaptive_steps as adaptive_steps,
    collect_touched as collect_touched,
    combine as combine,
    copy_to_cells as copy_to_cells,
    dot as dot,
    firing_runs as firing_runs,
    inner_products as inner_products,
    keep_difference as keep_difference,
    list_touched as list_touched,
    pair_products as pair_products,
    pair_squares as pair_squares,
    plain_steps as plain_steps,
    secant_steps as secant_steps,
)
from .dual_ascent import (
    Cuts as Cuts,
    Metric as Metric,
    ascend as ascend,
    combine_cuts as combine_cuts,
    empty_cuts as empty_cuts,
    frank_wolfe as frank_wolfe,
    is_repeated as is_repeated,
    join_cuts as join_cuts,
    margins_of as margins_of,
    measure_cuts as measure_cuts,
    most_violated as most_violated,
    primal_and_gap as primal_and_gap,
    products_of as products_of,
    project_to_bounds as project_to_bounds,
    projected_gradient as projected_gradient,
)
from .labelling_counts import (
    bias_of_cells as bias_of_cells,
    count_labellings as count_labellings,
    list_differences as list_differences,
    subtract_labellings as subtract_labellings,
)
