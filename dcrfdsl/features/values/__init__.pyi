from .condition_kinds import gives_weights as gives_weights, is_weighted as is_weighted, kind_of as kind_of
from .distinct_values import CorpusValues as CorpusValues
from .given_columns import given_scores as given_scores
from .joint_tests import (
    TRUE as TRUE,
    JointTest as JointTest,
    equality_codes as equality_codes,
    joint_test as joint_test,
    observed_codes as observed_codes,
)
from .lexicons import Lexicons as Lexicons
from .number_values import (
    NumberMoments as NumberMoments,
    checked_learned as checked_learned,
    learned_terms as learned_terms,
)
from .row_blocks import Block as Block, PairBlock as PairBlock, cut as cut
from .user_functions import RegisteredFeature as RegisteredFeature
from .value_kinds import (
    Bags as Bags,
    Numbers as Numbers,
    Source as Source,
    Texts as Texts,
    Truths as Truths,
    Values as Values,
)
