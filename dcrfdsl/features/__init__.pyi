from .atoms import reach as reach
from .extract import FeatureExtractor as FeatureExtractor
from .feature_alphabet import LARGEST as LARGEST, TemplateTables as TemplateTables
from .feature_rows import Conjunctions as Conjunctions, FeatureRows as FeatureRows, conjoined as conjoined
from .observation_kernels import ObservationKernel as ObservationKernel
from .part_counts import (
    FeatureSurvey as FeatureSurvey,
    KeyCounts as KeyCounts,
    PartLearner as PartLearner,
    join_surveys as join_surveys,
)
from .plan.expansion import (
    ExpandedFeature as ExpandedFeature,
    Factor as Factor,
    FeatureSetPlan as FeatureSetPlan,
    expand as expand,
    expand_features as expand_features,
    fixed_condition as fixed_condition,
    leaves as leaves,
)
from .plan.notation import condition_text as condition_text, term_text as term_text
from .plan.term_places import moved as moved, segment_place as segment_place
from .relation_instances import Pairs as Pairs
from .segment_rows import Candidates as Candidates, candidate_row as candidate_row
from .values.condition_kinds import kind_of as kind_of
from .values.lexicon_matches import (
    idle_remedy as idle_remedy,
    lexicon_matches as lexicon_matches,
    lexicons_of as lexicons_of,
)
from .values.lexicons import Lexicon as Lexicon, Lexicons as Lexicons, load_lexicons as load_lexicons
from .values.number_values import NumberMoments as NumberMoments, learned_terms as learned_terms
from .values.state_views import (
    ViewMap as ViewMap,
    own_functions as own_functions,
    view_label as view_label,
    view_map as view_map,
    with_mapped_views as with_mapped_views,
)
from .values.text_functions import (
    COMPARISONS as COMPARISONS,
    TEXT_FUNCTIONS as TEXT_FUNCTIONS,
    TextFunction as TextFunction,
    number_of as number_of,
)
from .values.user_functions import (
    RegisteredFeature as RegisteredFeature,
    feature as feature,
    load_feature_file as load_feature_file,
    registered_features as registered_features,
)
from .values.value_functions import arguments_of as arguments_of
from .values.window_statistics import in_windows as in_windows
