from .integrations import TemplateFunctions as TemplateFunctions
