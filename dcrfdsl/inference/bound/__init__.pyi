from .chain_graphs import ChainRuns as ChainRuns, chain_of as chain_of
from .explicit_tables import bind_factor_graph as bind_factor_graph, featureless_kinds as featureless_kinds
from .packing import unpacked as unpacked
from .potentials import Binder as Binder, BoundData as BoundData
