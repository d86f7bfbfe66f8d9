from .checking import (
    AnyTemplate as AnyTemplate,
    Registered as Registered,
    as_resolved as as_resolved,
    check as check,
)
from .checkpoints import (
    Checkpoint as Checkpoint,
    is_checkpoint as is_checkpoint,
    remove_checkpoint as remove_checkpoint,
)
from .cross_validation import (
    FOLDS as FOLDS,
    CrossValidation as CrossValidation,
    Fold as Fold,
    FoldPlan as FoldPlan,
    FoldTraining as FoldTraining,
    cross_validate as cross_validate,
    fold_numbers as fold_numbers,
)
from .parts import (
    CorpusParts as CorpusParts,
    cluster_client as cluster_client,
    files_in as files_in,
    joined_corpora as joined_corpora,
    open_parts as open_parts,
    parse_memory as parse_memory,
    part_runner as part_runner,
    refuse_unsummed_stages as refuse_unsummed_stages,
    remove_parts as remove_parts,
)
from .pipeline import (
    Iteration as Iteration,
    TrainingRequest as TrainingRequest,
    fit as fit,
    train_model as train_model,
    with_remarks as with_remarks,
)
from .size_limits import naming_statements as naming_statements
from .stage import Observers as Observers
from .time_estimate import SecondsRange as SecondsRange, training_seconds as training_seconds
from .training_logs import (
    CurveWriter as CurveWriter,
    TrainingLog as TrainingLog,
    check_curve_path as check_curve_path,
    progress_bar as progress_bar,
    scalar_writer as scalar_writer,
    write_curve as write_curve,
)
from .tuning import (
    TRIALS as TRIALS,
    ConstantSearch as ConstantSearch,
    Goal as Goal,
    SearchPlan as SearchPlan,
    Trial as Trial,
    TrialData as TrialData,
    grid_values as grid_values,
    tune as tune,
)
from .untrained_model import (
    UntrainedModel as UntrainedModel,
    assemble as assemble,
    refuse_undecodable as refuse_undecodable,
)
