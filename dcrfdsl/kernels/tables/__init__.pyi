from .dense import (
    NARROW as NARROW,
    WIDE as WIDE,
    add_run as add_run,
    copy_run as copy_run,
    load_some as load_some,
    matrix_times as matrix_times,
    scale_run as scale_run,
    store_some as store_some,
    times_matrix as times_matrix,
)
from .kernel_arguments import (
    Control as Control,
    Potentials as Potentials,
    Problem as Problem,
    Ragged as Ragged,
    Results as Results,
    Sweeps as Sweeps,
    Totals as Totals,
    WarmStart as WarmStart,
)
from .log_tables import (
    TINY as TINY,
    add_bias_gradient as add_bias_gradient,
    base_tables as base_tables,
    exponentiate as exponentiate,
    exponentiate_base as exponentiate_base,
    fill_tables as fill_tables,
    scatter_gradient as scatter_gradient,
    shared_peaks as shared_peaks,
)
from .packed import (
    BundleLists as BundleLists,
    Packed as Packed,
    add_runs as add_runs,
    collect_gradient as collect_gradient,
    count_fires as count_fires,
    distribute_bundles as distribute_bundles,
    pack_rows as pack_rows,
    pack_weights as pack_weights,
    scatter_single as scatter_single,
    sum_bundles as sum_bundles,
)
from .wiring import (
    Bindings as Bindings,
    Edges as Edges,
    Kinds as Kinds,
    Patterns as Patterns,
    Programs as Programs,
    Rows as Rows,
    Schedules as Schedules,
    Shapes as Shapes,
)
