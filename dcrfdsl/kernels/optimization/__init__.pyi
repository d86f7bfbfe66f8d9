from .batch_sums import (
    collect_touched as collect_touched,
    firing_runs as firing_runs,
    list_touched as list_touched,
    move_cells as move_cells,
)
from .boosting_bounds import least_bound as least_bound, least_bounds as least_bounds
from .cuts import (
    Cuts as Cuts,
    Metric as Metric,
    combine_cuts as combine_cuts,
    is_repeated as is_repeated,
    join_cuts as join_cuts,
    margins_of as margins_of,
    measure_cuts as measure_cuts,
    no_cuts as no_cuts,
    products_of as products_of,
)
from .descent import (
    adaptive_steps as adaptive_steps,
    combine as combine,
    dot as dot,
    inner_products as inner_products,
    plain_steps as plain_steps,
    secant_steps as secant_steps,
)
from .dual_ascent import (
    ascend as ascend,
    bounded as bounded,
    frank_wolfe as frank_wolfe,
    free_part as free_part,
    gaps_of as gaps_of,
    violated_most as violated_most,
)
from .feature_differences import bias_of_cells as bias_of_cells, list_differences as list_differences
from .labelling_counts import count_labellings as count_labellings
