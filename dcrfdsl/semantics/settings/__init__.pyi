from .decode_rules import decoding as decoding
from .decoding_settings import (
    DECODINGS as DECODINGS,
    bounding_decoding as bounding_decoding,
    read_decoding as read_decoding,
)
from .guiding_stages import guiding_stage as guiding_stage, stage_inference as stage_inference
from .importance_settings import (
    IMPORTANCE as IMPORTANCE,
    SentenceImportance as SentenceImportance,
    StateImportance as StateImportance,
    TokenImportance as TokenImportance,
    state_factors as state_factors,
)
from .loss_settings import (
    LOSSES as LOSSES,
    SMOOTHINGS as SMOOTHINGS,
    LabelLoss as LabelLoss,
    MceSettings as MceSettings,
    MeasureLoss as MeasureLoss,
    SequenceLoss as SequenceLoss,
)
from .margin_settings import (
    KERNELS as KERNELS,
    MARGIN_LOSSES as MARGIN_LOSSES,
    CostLoss as CostLoss,
    HmsvmSettings as HmsvmSettings,
    SegmentsLoss as SegmentsLoss,
    state_costs as state_costs,
)
from .method_settings import (
    CriterionSettings as CriterionSettings,
    MethodSettings as MethodSettings,
    OptimizerSettings as OptimizerSettings,
    Shape as Shape,
)
from .nota_settings import CASES as CASES, LikelyCases as LikelyCases
from .optimizer_settings import OPTIMIZERS as OPTIMIZERS, IisSettings as IisSettings
from .piece_shorthands import PIECES as PIECES
from .prior_settings import (
    PRIORS as PRIORS,
    GaussianPrior as GaussianPrior,
    GroupLassoPrior as GroupLassoPrior,
    NoPrior as NoPrior,
    Prior as Prior,
)
from .pruned_settings import PrunedSettings as PrunedSettings
from .risk_settings import (
    AdaboostSettings as AdaboostSettings,
    ExponentialSettings as ExponentialSettings,
    MarginalSettings as MarginalSettings,
)
from .settings_reading import (
    DEFAULT_STAGE as DEFAULT_STAGE,
    decode_statement as decode_statement,
    inference_settings as inference_settings,
    stage_chain as stage_chain,
    stage_settings as stage_settings,
)
from .trainable import (
    SMOOTH as SMOOTH,
    STEPWISE as STEPWISE,
    TRAINED_BY as TRAINED_BY,
    TREATS as TREATS,
    WITHOUT_PENALTY as WITHOUT_PENALTY,
)
from .training_settings import (
    CRITERIA as CRITERIA,
    INFERENCE as INFERENCE,
    AutoSettings as AutoSettings,
    ExactSettings as ExactSettings,
    HmmSettings as HmmSettings,
    InduceSettings as InduceSettings,
    LikelihoodSettings as LikelihoodSettings,
    PerceptronSettings as PerceptronSettings,
    PieceSettings as PieceSettings,
    RescaleSettings as RescaleSettings,
    TrainSettings as TrainSettings,
)
from .written_defaults import with_defaults as with_defaults
