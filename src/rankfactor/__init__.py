"""Discriminative Bayesian factor analysis of non-Gaussian data.

Names are imported on first use, so that the command line starts quickly.
"""

from rankfactor.__about__ import __version__
from rankfactor.lazy import importer

TYPE_CHECKING = False  # known to type checkers; avoids importing typing
if TYPE_CHECKING:
    from rankfactor.data import Dataset, load_alzheimer, load_bfi, read_table
    from rankfactor.engine.chain import Gibbs
    from rankfactor.errors import InputError
    from rankfactor.estimators import RankFactorAnalysis, RankFactorClassifier
    from rankfactor.posterior import Posterior
    from rankfactor.report import write_report
    from rankfactor.storage.draw_store import open_draws
    from rankfactor.storage.model_file import load_model, save_model
    from rankfactor.versions import show_versions

_HOMES = {
    "Dataset": "data",
    "Gibbs": "engine.chain",
    "InputError": "errors",
    "Posterior": "posterior",
    "RankFactorAnalysis": "estimators",
    "RankFactorClassifier": "estimators",
    "load_alzheimer": "data",
    "load_bfi": "data",
    "load_model": "storage.model_file",
    "open_draws": "storage.draw_store",
    "read_table": "data",
    "save_model": "storage.model_file",
    "show_versions": "versions",
    "write_report": "report",
}

__all__ = [
    "Dataset",
    "Gibbs",
    "InputError",
    "Posterior",
    "RankFactorAnalysis",
    "RankFactorClassifier",
    "__version__",
    "load_alzheimer",
    "load_bfi",
    "load_model",
    "open_draws",
    "read_table",
    "save_model",
    "show_versions",
    "write_report",
]


__getattr__ = importer(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__
