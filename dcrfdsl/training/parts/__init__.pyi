from .corpus_parts import (
    CorpusParts as CorpusParts,
    files_in as files_in,
    joined_corpora as joined_corpora,
    open_parts as open_parts,
    remove_parts as remove_parts,
)
from .part_files import read_compiled as read_compiled
from .part_runners import cluster_client as cluster_client, part_runner as part_runner
from .parted_problem import (
    PartedProblem as PartedProblem,
    parse_memory as parse_memory,
    refuse_unsummed_stages as refuse_unsummed_stages,
    untrained_on_parts as untrained_on_parts,
)
