from .automaton_runs import (
    TOGETHER as TOGETHER,
    AutomatonRuns as AutomatonRuns,
    bound_automaton as bound_automaton,
    fastest_automaton as fastest_automaton,
    filled_lanes as filled_lanes,
)
from .candidate_runs import CandidateRuns as CandidateRuns
from .chain_graphs import ChainRuns as ChainRuns, CompetitorTotals as CompetitorTotals, chain_of as chain_of
from .explicit_tables import bind_factor_graph as bind_factor_graph, featureless_kinds as featureless_kinds
from .lattice_tables import (
    lattice_refusal as lattice_refusal,
    local_tables as local_tables,
    view_guide as view_guide,
)
from .linked_chains import LinkedChains as LinkedChains, linked_chains as linked_chains
from .packing import unpacked as unpacked
from .potentials import Binder as Binder, BoundData as BoundData
from .sequence_copies import repeated_data as repeated_data
from .star_tables import StarTables as StarTables
