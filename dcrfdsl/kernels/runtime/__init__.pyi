from .compilation import (
    entry as entry,
    fast_entry as fast_entry,
    fast_inlined as fast_inlined,
    fast_inner as fast_inner,
    fast_kernel as fast_kernel,
    inlined as inlined,
    inner as inner,
    kernel as kernel,
)
from .cpu import LANES as LANES
from .lane_vectors import (
    add_sums as add_sums,
    any_below as any_below,
    choose_below as choose_below,
    dot as dot,
    fold as fold,
    int_at as int_at,
    keep_rolled as keep_rolled,
    load_at as load_at,
    prefetch as prefetch,
    transpose as transpose,
)
from .machine_vectors import (
    add as add,
    aligned_zeros as aligned_zeros,
    block_registers as block_registers,
    broadcast as broadcast,
    exp as exp,
    fma as fma,
    largest as largest,
    least_finite as least_finite,
    least_positive as least_positive,
    load as load,
    load_part as load_part,
    lowest as lowest,
    maximum as maximum,
    multiply as multiply,
    padded as padded,
    repeat as repeat,
    store as store,
    store_part as store_part,
    subtract as subtract,
    total as total,
)
from .random_orders import direct_edges as direct_edges, next_random as next_random, shuffle as shuffle
from .sorting import sort_ascending as sort_ascending
from .status_codes import (
    BROKEN as BROKEN,
    GAVE_UP as GAVE_UP,
    IMPOSSIBLE as IMPOSSIBLE,
    OK as OK,
    UNDERFLOW as UNDERFLOW,
)
