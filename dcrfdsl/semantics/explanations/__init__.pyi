from .pages import EXPLANATIONS as EXPLANATIONS
