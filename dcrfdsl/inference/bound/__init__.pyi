from .chain_graphs import ChainRuns as ChainRuns, chain_of as chain_of
from .packing import unpacked as unpacked
from .potentials import Binder as Binder, BoundData as BoundData, Potentials as Potentials
