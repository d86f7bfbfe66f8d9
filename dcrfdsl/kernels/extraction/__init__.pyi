from .bundles import cover_rows as cover_rows, implied_features as implied_features
from .gains import (
    WeightPenalty as WeightPenalty,
    cross_gains as cross_gains,
    crosses as crosses,
    distinct_rows as distinct_rows,
    rows_of_features as rows_of_features,
)
from .item_stream import (
    NameIndex as NameIndex,
    index_names as index_names,
    number_items as number_items,
    words_of as words_of,
)
from .joins import (
    conjoin as conjoin,
    count_keys as count_keys,
    count_rows as count_rows,
    cross as cross,
    cross_ragged as cross_ragged,
    cross_weights as cross_weights,
    find as find,
    find_direct as find_direct,
    gather_lists as gather_lists,
    gather_weights as gather_weights,
    insert as insert,
    intern as intern,
    mark_spans as mark_spans,
    merge_items as merge_items,
    place_rows as place_rows,
    row_products as row_products,
    rows_inside as rows_inside,
    shift_codes as shift_codes,
    shift_numbers as shift_numbers,
)
from .line_scan import (
    ANY_SPACE as ANY_SPACE,
    BLANK as BLANK,
    append_to_lines as append_to_lines,
    intern_cells as intern_cells,
    lines_and_cells as lines_and_cells,
)
from .weight_pairs import count_pairs as count_pairs
