from .boosting_rounds import minimise_boosting as minimise_boosting
from .counting import minimise_closed_form as minimise_closed_form
from .iis import minimise_iis as minimise_iis
from .mixed_perceptron import minimise_mixed_perceptron as minimise_mixed_perceptron
from .perceptron_steps import minimise_perceptron as minimise_perceptron, perceptron_pass as perceptron_pass
