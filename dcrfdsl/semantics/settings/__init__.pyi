from .decoding_settings import (
    DECODINGS as DECODINGS,
    BoundingDecoding as BoundingDecoding,
    FscoreDecoding as FscoreDecoding,
    read_decoding as read_decoding,
)
from .implied_settings import (
    decoding as decoding,
    guiding_stage as guiding_stage,
    stage_inference as stage_inference,
    with_defaults as with_defaults,
)
from .infer_settings import (
    INFERENCE as INFERENCE,
    AutoSettings as AutoSettings,
    ExactSettings as ExactSettings,
    PrunedSettings as PrunedSettings,
)
from .loss_settings import (
    COSTS as COSTS,
    KERNELS as KERNELS,
    LOSSES as LOSSES,
    MARGIN_LOSSES as MARGIN_LOSSES,
    SMOOTHINGS as SMOOTHINGS,
    CostLoss as CostLoss,
    CostSettings as CostSettings,
    HmsvmSettings as HmsvmSettings,
    LabelLoss as LabelLoss,
    MceSettings as MceSettings,
    MeasureLoss as MeasureLoss,
    SegmentsLoss as SegmentsLoss,
    SequenceLoss as SequenceLoss,
    SumLoss as SumLoss,
    cost_parts as cost_parts,
    state_costs as state_costs,
)
from .method_settings import (
    CriterionSettings as CriterionSettings,
    MethodSettings as MethodSettings,
    OptimizerSettings as OptimizerSettings,
    Shape as Shape,
)
from .optimizer_settings import OPTIMIZERS as OPTIMIZERS, IisSettings as IisSettings
from .piece_shorthands import PIECES as PIECES
from .prior_settings import (
    PRIORS as PRIORS,
    GaussianPrior as GaussianPrior,
    GroupLassoPrior as GroupLassoPrior,
    NoPrior as NoPrior,
    Prior as Prior,
)
from .settings_reading import (
    DEFAULT_STAGE as DEFAULT_STAGE,
    decode_statement as decode_statement,
    inference_settings as inference_settings,
    stage_chain as stage_chain,
    stage_settings as stage_settings,
)
from .training_settings import (
    CASES as CASES,
    CRITERIA as CRITERIA,
    IMPORTANCE as IMPORTANCE,
    SMOOTH as SMOOTH,
    STEPWISE as STEPWISE,
    TRAINED_BY as TRAINED_BY,
    TREATS as TREATS,
    WITHOUT_PENALTY as WITHOUT_PENALTY,
    AdaboostSettings as AdaboostSettings,
    ExponentialSettings as ExponentialSettings,
    HmmSettings as HmmSettings,
    InduceSettings as InduceSettings,
    LikelihoodSettings as LikelihoodSettings,
    LikelyCases as LikelyCases,
    MarginalSettings as MarginalSettings,
    PerceptronSettings as PerceptronSettings,
    PieceSettings as PieceSettings,
    RescaleSettings as RescaleSettings,
    SentenceImportance as SentenceImportance,
    StateImportance as StateImportance,
    TokenImportance as TokenImportance,
    TrainSettings as TrainSettings,
    state_factors as state_factors,
)
