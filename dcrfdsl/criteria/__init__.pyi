from .array_chain import (
    ChainData as ChainData,
    ChainWeights as ChainWeights,
    chain_likelihood as chain_likelihood,
)
from .criteria_table import CRITERIA as CRITERIA
from .criterion import Criterion as Criterion
from .expected_shares import (
    ExpectedLikelihood as ExpectedLikelihood,
    ExpectedShare as ExpectedShare,
    ShareCounts as ShareCounts,
    SharePenalty as SharePenalty,
    counting_problem as counting_problem,
    share_tables as share_tables,
    with_counted_places as with_counted_places,
)
from .feature_moments import (
    FeatureMoments as FeatureMoments,
    add_moments as add_moments,
    moments_of_rows as moments_of_rows,
    number_features as number_features,
    weight_units as weight_units,
)
from .importance import NumberColumns as NumberColumns
from .margin_objective import Hmsvm as Hmsvm, margin_remarks as margin_remarks
from .message_sweeps import with_learned_sweeps as with_learned_sweeps
from .penalties import PRIORS as PRIORS, TemplateWeights as TemplateWeights, weights_by_template as weights_by_template
from .run_sums import gradient_runs as gradient_runs
from .training_problem import TrainingProblem as TrainingProblem
