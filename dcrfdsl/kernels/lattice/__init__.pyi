from .contexts import (
    FORBIDDEN as FORBIDDEN,
    MOST_STATES as MOST_STATES,
    UNSEEN as UNSEEN,
    ContextTables as ContextTables,
    LocalTables as LocalTables,
    count_contexts as count_contexts,
    fill_hash as fill_hash,
    score_contexts as score_contexts,
)
from .guides import NO_GUIDE as NO_GUIDE, Guide as Guide, list_labels as list_labels
from .lattice_levels import Pruning as Pruning
from .lattice_passes import (
    COLUMNS as COLUMNS,
    EARLY as EARLY,
    EDGES as EDGES,
    LABELS as LABELS,
    POSITIONS as POSITIONS,
    POSSIBLE as POSSIBLE,
    RELAXED as RELAXED,
    LatticeTables as LatticeTables,
    lattice_bounds as lattice_bounds,
    lattice_decode as lattice_decode,
    lattice_expectations as lattice_expectations,
)
