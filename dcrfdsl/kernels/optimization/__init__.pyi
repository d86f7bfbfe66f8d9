from .batch_sums import (
    collect_touched as collect_touched,
    copy_to_cells as copy_to_cells,
    firing_runs as firing_runs,
    list_touched as list_touched,
)
from .boosting_bounds import least_bound as least_bound, least_bounds as least_bounds
from .cuts import (
    Cuts as Cuts,
    Metric as Metric,
    combine_cuts as combine_cuts,
    empty_cuts as empty_cuts,
    is_repeated as is_repeated,
    join_cuts as join_cuts,
    margins_of as margins_of,
    measure_cuts as measure_cuts,
    products_of as products_of,
)
from .descent import (
    adaptive_steps as adaptive_steps,
    combine as combine,
    dot as dot,
    inner_products as inner_products,
    keep_difference as keep_difference,
    pair_products as pair_products,
    pair_squares as pair_squares,
    plain_steps as plain_steps,
    secant_steps as secant_steps,
)
from .dual_ascent import (
    ascend as ascend,
    frank_wolfe as frank_wolfe,
    most_violated as most_violated,
    primal_and_gap as primal_and_gap,
    project_to_bounds as project_to_bounds,
    projected_gradient as projected_gradient,
)
from .feature_differences import bias_of_cells as bias_of_cells, list_differences as list_differences
from .labelling_counts import count_labellings as count_labellings
