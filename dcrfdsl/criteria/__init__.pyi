from .criteria_table import CRITERIA as CRITERIA
from .criterion import Criterion as Criterion
from .penalties import PRIORS as PRIORS
from .pieces.piece_likelihood import local_pieces as local_pieces, resolve_decode_rule as resolve_decode_rule
from .run_sums import gradient_runs as gradient_runs
from .supervision import Supervision as Supervision
