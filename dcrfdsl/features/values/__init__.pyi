from .bag_values import is_weighted as is_weighted
from .condition_kinds import kind_of as kind_of
from .distinct_values import (
    Bags as Bags,
    CorpusValues as CorpusValues,
    Numbers as Numbers,
    Source as Source,
    Texts as Texts,
    Truths as Truths,
    Values as Values,
)
from .joint_tests import (
    TRUE as TRUE,
    JointTest as JointTest,
    equality_codes as equality_codes,
    joint_test as joint_test,
)
from .learned_bins import checked_bins as checked_bins, quantile_bins as quantile_bins
from .lexicons import Lexicons as Lexicons
from .observed import observed_codes as observed_codes
from .own_functions import gives_weights as gives_weights
from .registered import RegisteredFeature as RegisteredFeature
