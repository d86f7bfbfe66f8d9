from .automaton_runs import (
    TOGETHER as TOGETHER,
    AutomatonRuns as AutomatonRuns,
    bound_automaton as bound_automaton,
    fastest_automaton as fastest_automaton,
    filled_lanes as filled_lanes,
)
from .binding import Binder as Binder, BoundData as BoundData, repeated_data as repeated_data
from .chain_runs import (
    ChainRuns as ChainRuns,
    LinkedChains as LinkedChains,
    chain_of as chain_of,
    competing_chains as competing_chains,
    linked_chains as linked_chains,
)
from .lattice_runs import CandidateRuns as CandidateRuns, StarTables as StarTables
from .lattice_tables import (
    lattice_refusal as lattice_refusal,
    local_tables as local_tables,
    view_guide as view_guide,
)
from .packing import unpacked as unpacked
