"""The arguments of kernels: NamedTuples of arrays that belong together. Numbers only, no behaviour.

A kernel that works on a run of sequences takes the data (`Problem`), the weights (`Potentials`), the buffers that it
adds to (`Totals`) and those that it writes (`Results`, `Ragged`). The data is bound to the model's wiring, each field
of which has a line below.

Letters: `G` graph shapes, `V` variables, `F` factors, `E` factor–variable edges, `S` sequences, `K` factor kinds, `P`
step patterns, `W` weights. A field that ends in `_off` holds n+1 offsets that cut another array into n runs. All
graphs of one model live in one bank: the variables of shape g are `var_off[g]` to `var_off[g + 1]`, and so on.

Tables lie in an *arena*, one array of float64: first the cells shared by all sequences (cell 0 is the constant 1),
then the tables of the sequence at hand, then the intermediate results of its contraction program.

A NamedTuple costs nothing by itself: a call passes its arrays one by one. Functions that are called in loops therefore
take only NamedTuples that they need as a whole, or the few arrays that they use (see `runtime.compilation`).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...foundation import Floats, Ints, Ints32, Mask
from .packed import Packed


class Shapes(NamedTuple):
    """Unrolled graphs, one for each distinct shape (for static cliques: each length)."""

    var_off: Ints  #      [G+1]
    card: Ints32  #       [V]    states of a variable
    state_off: Ints  #    [V+1]  where a variable's states lie, counted from its shape's first
    fac_off: Ints  #      [G+1]
    fac_kind: Ints32  #   [F]    index into Kinds
    fac_anchor: Ints32  # [F]    position t that its features are read at
    fac_table: Ints  #    [F]    arena offset of its table (shared or local)
    fac_size: Ints  #     [F]    entries of its table
    scope_off: Ints  #    [F+1]
    scope: Ints32  #      [..]   variables, counted from the shape's first; the last one varies fastest
    local_start: int  #          arena offset of the first local table = number of shared cells
    local_end: Ints  #    [G]    arena offset after the last local table
    arena_end: Ints  #    [G]    arena offset after the last intermediate
    log_const: Floats  #  [G]    Σ log(number of states) over variables in no factor


class Kinds(NamedTuple):
    """What all factors of one clique template (with one pattern of padded sites) share."""

    base: Ints  #          [K]    shared cell of the kind's base table (bias weights and hard zeros)
    size: Ints  #          [K]    entries of the table
    feature_set: Ints32  # [K]    feature set that adds to the base table, or -1
    run_base: Ints  #      [K]    first index of the clique's features in Bindings.run_off
    has_bias: Mask  #      [K]
    fixed: Mask  #         [K]    its features are codes, whose weights are no parameters (-inf of hard constraints)
    inverse_off: Ints  #   [K]    where the kind's map in `inverse` starts, or -1 for the identity; -2 - start of lists
    inverse: Ints32  #     [..]   assignment of the full clique → entry of this kind's table, or -1; or lists: where the
    #                             entries of each assignment lie (counted from the start of the lists), then the entries
    part_off: Ints  #      [K+1]  of a product of tables: the kinds …
    part: Ints32  #        [..]   … whose tables it is made of; no parts: an own table


class Bindings(NamedTuple):
    """Which weight belongs to which (feature, assignment). Weights: first the biases, then feature entries.

    The entries of fixed kinds come last; their weights are no parameters.
    """

    run_off: Ints  #     [features of all cliques + 1]  feature → its run of entries
    entry: Ints32  #     [W - B]                        assignment of the clique that entry e weighs
    num_bias: int  #                                    B; entry e has weight B + e
    bias_weight: Ints  # [cells]                        bias weight number …
    bias_cell: Ints  #   [cells]                        … is added to this shared cell


class Rows(NamedTuple):
    """The feature rows of all feature sets, laid end to end."""

    first_row: Ints  # [sets, S]  index in row_off of the row of a sequence's anchor 0
    row_off: Ints  #   [rows + 1]
    feature: Ints32  # [nnz]
    value: Floats  #   [nnz] or [0]: all ones
    token_off: Ints  # [S+1]   sequence → tokens
    shape: Ints32  #   [S]     sequence → graph shape
    packed: Packed  #          the same rows packed, for training


class Patterns(NamedTuple):
    """The distinct index patterns of contraction steps; see `exact.contraction`."""

    dims: Ints  #    [P, 7]  batch, left, sum, right sizes; 1 if B is contiguous along right; 1 if by index;
    #                        the distance of A's entries along left, or by index: how long runs of it are; or -1
    start: Ints  #   [P, 6]  where the offset lists a_b, a_l, a_k, b_b, b_k, b_r start in `offsets`
    offsets: Ints  # [..]


class Programs(NamedTuple):
    """A contraction program for each shape: steps that end with every variable summed out."""

    step_off: Ints  #       [G+1]
    step: Ints  #           [n, 5]  pattern, arena offsets of A, B and the result C, 1 for the root of a component
    variable: Ints32  #     [n]     variable that the step sums out, or -1
    step_card: Ints32  #    [n]     its number of states
    axis_off: Ints  #       [2n+1]  axes of A (2i) and B (2i+1) …
    axis_var: Ints32  #     [..]    … as variable
    axis_stride: Ints  #    [..]    … and stride
    block_off: Ints  #      [G+1]   blocks of a shape; none where it is computed in one piece
    block: Ints  #          [n, 9]  from … to: steps (2, counted from the shape's first), cells of local tables (2);
    #                               the first result that it or a later block reads; results (2), in block_factor (2)
    block_factor: Ints32  # [..]    factors with local tables, block by block, counted from the shape's first
    workspace: Ints  #      [G]     arena cells needed at once: for the whole shape, or for its largest block


class Edges(NamedTuple):
    """Factor–variable edges of the factors with two or more variables, for message passing."""

    edge_off: Ints  #      [G+1]   edges of a shape
    edge_factor: Ints32  # [E]     factor, counted from the shape's first
    edge_var: Ints32  #    [E]     variable, counted from the shape's first
    edge_axis: Ints32  #   [E]     position of the variable in the factor's scope
    message_off: Ints  #   [E]     where the message factor → variable lies, counted from the shape's first
    first_edge: Ints  #    [F]     first edge of a factor, counted from the shape's first; -1 for one variable
    var_edge_off: Ints  #  [V+1]   edges at a variable (absolute offsets into var_edge)
    var_edge: Ints32  #    [E]     edge, counted from the shape's first
    messages: Ints  #      [G]     total length of a shape's messages


class Schedules(NamedTuple):
    """Orders in which messages are sent: a pool of passes for each shape. A pass lists edges in order."""

    pass_off: Ints  # [G+1]   passes of a shape
    send_off: Ints  # [passes + 1]
    send: Ints32  #   [..]    edge, counted from the shape's first


class Approximations(NamedTuple):
    """The forest of each shape (N factors), the factors held by it (H), and walks (W): one a term, then the whole
    forest. A walk has items (I), factors of the forest from the top down, and variables (U).
    """

    held_end: Ints  #    [G+1]  factors held by the forest
    held_factor: Ints  # [H]    factor, counted from the shape's first
    held_cell: Ints  #   [H]    where the table of the forest that holds it lies, counted from the shape's first
    held_size: Ints  #   [H]    entries of that table
    held_map: Ints  #    [H]    where in `map` the entry of the factor for each of them begins
    map: Ints  #         [..]
    tree_cells: Ints  #  [G]    entries of the forest's tables
    cells: Ints  #       [G]    numbers that the terms take
    walk_end: Ints  #    [G+1]
    walk_factor: Ints  # [W]    the term's factor, or -1
    walk_item: Ints  #   [W+1]
    walk_var: Ints  #    [W+1]
    walk_cell: Ints  #   [W]    where the term's numbers lie: of the items' tables, then of the variables
    walk_table: Ints  #  [W]    entries of the items' tables
    walk_states: Ints  # [W]    states of the variables
    walk_scope: Ints  #  [W]    where in `term_scope` its variables begin
    term_scope: Ints  #  [..]   variable of the walk for each axis of the term's factor
    item_tree: Ints  #   [I]    number in the forest
    item_cell: Ints  #   [I]    where its table lies in the forest …
    item_size: Ints  #   [I]
    item_local: Ints  #  [I]    … and in the walk
    item_axis: Ints  #   [I]    the axis of the variable above it
    item_first: Ints  #  [I]    its siblings, items below the same variable, counted from the walk's first
    item_last: Ints  #   [I]
    item_scope: Ints  #  [I]    where in `scope` its variables begin
    item_arity: Ints  #  [I]
    scope: Ints  #       [..]   variables, counted from the walk's first
    var: Ints  #         [U]    variable of the graph
    var_local: Ints  #   [U]    where its states lie in the walk
    var_degree: Ints  #  [U]    items at it
    var_is_top: Ints  #  [U]
    child_first: Ints  # [U]    items below it, counted from the walk's first
    child_last: Ints  #  [U]
    above: Ints  #       [U]    the item above it in the whole forest, or -1; -1 in walks of terms


class Regions(NamedTuple):
    """Clusters of variables (A), the regions (B) that they share, and the links (L) between the two.

    A region's links, and a shape's clusters and regions, follow one another. `map` tells to which entry of a smaller
    table each entry of a cluster's or region's belongs; equal maps are stored once.
    """

    cluster_off: Ints  #  [G+1]
    table_off: Ints  #    [A]    where a cluster's table lies, counted from the shape's first
    size: Ints  #         [A]    its entries
    around_off: Ints  #   [A+1]  links of a cluster
    around: Ints  #       [L]
    region_off: Ints  #   [G+1]
    number: Floats  #     [B]    counting number c_β
    cell_off: Ints  #     [B]    where a region's belief lies, counted from the shape's first
    states: Ints  #       [B]    its entries
    link_off: Ints  #     [B+1]
    link_cluster: Ints  # [L]
    link_region: Ints  #  [L]
    link_map: Ints  #     [L]    where its map begins
    link_message: Ints  # [L]    where its message lies, counted from the shape's first
    fac_cluster: Ints  #  [F]    the cluster that holds a factor of two or more variables, else -1
    fac_map: Ints  #      [F]
    fac_region: Ints  #   [F]    the region that all clusters around a factor share, or -1 if there is one cluster
    fac_within: Ints  #   [F]    its map from that region
    var_cluster: Ints  #  [V]    the cluster that a variable's marginals are read from
    var_map: Ints  #      [V]
    var_region: Ints  #   [V]    as `fac_region`
    var_within: Ints  #   [V]
    map: Ints32  #        [..]
    messages: Ints  #     [G]    total length of a shape's messages


# what a kernel takes for a run of sequences ---------------------------------------------------------------------------


class Problem(NamedTuple):
    """A data set bound to a model."""

    shapes: Shapes
    kinds: Kinds
    bindings: Bindings
    rows: Rows


class Potentials(NamedTuple):
    """Weights, and the base tables computed from them. Linear tables are divided by their maxima."""

    weights: Floats  #    [W, then fixed ones; or packed cells]
    log_base: Floats  #   [shared cells]
    base: Floats  #       [shared cells]  exp of them
    peaks: Floats  #      [K]             logarithms of these maxima
    fits: bool  #                         whether linear space holds the tables …
    products_fit: bool  #                 … and the products of tables, which exact inference alone reads


class Totals(NamedTuple):
    """Buffers that expected feature counts are added to."""

    gradient: Floats  # [W, or packed cells] of features; empty where only marginals are wanted
    expected: Floats  # [shared cells]


class Ragged(NamedTuple):
    """One array for all sequences: sequence s has the part off[s] to off[s + 1]. Empty if it is not wanted."""

    value: NDArray  # [..], or [n, ..]
    off: Ints  #      [S+1]


class Results(NamedTuple):
    """How inference on each sequence ended, indexed by sequence."""

    log_z: Floats  #            [S]
    status: NDArray[np.int8]  # [S]  see `runtime.compilation`
    redone: Mask  #             [S]  whether it was computed in log space
    iterations: Ints  #         [S]  negative where it did not converge
    residual: Floats  #         [S]
    damped: Mask  #             [S]  whether messages oscillated and were therefore damped


class Control(NamedTuple):
    """Stopping criteria of an iterative method, its damping and the seed of its random numbers."""

    tolerance: float
    max_iterations: int
    damping: float
    seed: int


class Sweeps(NamedTuple):
    """A schedule that sends messages in rounds: see `messages.propagation`. `passes` of ORDERED, or the first trees."""

    kind: int
    passes: Schedules


class WarmStart(NamedTuple):
    """Messages (or marginals) that each sequence starts from and leaves for the next call. Empty: none are kept."""

    value: NDArray[np.float32]
    off: Ints  #     [S+1]
    is_kept: Mask  #        [S]  whether there is something to start from
