"""Figures of a `Posterior`, each a function that returns a matplotlib `Figure`.

They do not use pyplot and change no global setting. To show a figure in a notebook, name it last in
a cell; to save it, use ``figure.savefig("scores.pdf")``.
"""

from rankfactor.plots.coefficients import coefficient_figure, joint_coefficient_figure
from rankfactor.plots.components import responsibility_figure
from rankfactor.plots.confusion import confusion_figure
from rankfactor.plots.course import history_figure, trace_figure
from rankfactor.plots.effects import contribution_figure, effect_figure
from rankfactor.plots.factor_correlations import factor_correlation_figure
from rankfactor.plots.feature_ranks import rank_figure
from rankfactor.plots.graph import network_figure
from rankfactor.plots.held_out import comparison_figure, reliability_figure, roc_figure
from rankfactor.plots.images import compared_images_figure, loading_image_figure
from rankfactor.plots.loadings import loading_figure, share_figure
from rankfactor.plots.quality import missing_figure
from rankfactor.plots.recovery import recovery_figure
from rankfactor.plots.scores import distribution_figure, score_figure
from rankfactor.plots.scree import scree_figure
from rankfactor.plots.stress import stress_figure

__all__ = [
    "coefficient_figure",
    "compared_images_figure",
    "comparison_figure",
    "confusion_figure",
    "contribution_figure",
    "distribution_figure",
    "effect_figure",
    "factor_correlation_figure",
    "history_figure",
    "joint_coefficient_figure",
    "loading_figure",
    "loading_image_figure",
    "missing_figure",
    "network_figure",
    "rank_figure",
    "recovery_figure",
    "reliability_figure",
    "responsibility_figure",
    "roc_figure",
    "score_figure",
    "scree_figure",
    "share_figure",
    "stress_figure",
    "trace_figure",
]
