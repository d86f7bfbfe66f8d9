from .alphabet.conjunctions import Conjunctions as Conjunctions, conjoined as conjoined
from .extract import FeatureExtractor as FeatureExtractor
from .feature_rows import FeatureRows as FeatureRows
from .observation_kernels import ObservationKernel as ObservationKernel
from .plan.expansion import ExpandedFeature as ExpandedFeature, expand_features as expand_features
from .relation_instances import Pairs as Pairs
from .string_tables import pack_strings as pack_strings, unpack_strings as unpack_strings
from .values.lexicon_matches import (
    idle_remedy as idle_remedy,
    lexicon_matches as lexicon_matches,
    lexicons_of as lexicons_of,
)
from .values.lexicons import Lexicon as Lexicon, Lexicons as Lexicons, load_lexicons as load_lexicons
from .values.registered import (
    RegisteredFeature as RegisteredFeature,
    feature as feature,
    load_feature_file as load_feature_file,
    registered_features as registered_features,
)
from .values.state_views import ViewMap as ViewMap, view_label as view_label, view_map as view_map
