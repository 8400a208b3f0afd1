"""The estimators of scikit-learn: `RankFactorClassifier` and `RankFactorAnalysis`.

Arguments, fits and predictions are those of plain classes, which the command line uses without
scikit-learn. Added here is what scikit-learn requires of an estimator: cloning, ``set_output``
(which wraps only methods defined in the class itself, hence the assignments), tags.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin

from rankfactor.estimators.analysis import PlainAnalysis
from rankfactor.estimators.classifier import PlainClassifier


class _TableTags(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    def __sklearn_tags__(self) -> Any:
        """Tags: missing values and sparse matrices are supported."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


# The docstrings are those of the plain classes.
class RankFactorClassifier(  # noqa: D101
    ClassifierMixin,  # type: ignore[misc]
    _TableTags,
    PlainClassifier,
):
    __doc__ = PlainClassifier.__doc__
    transform = PlainClassifier.transform
    score = PlainClassifier.score

    def __sklearn_tags__(self) -> Any:
        """Tags: several label columns are supported."""
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags


class RankFactorAnalysis(_TableTags, PlainAnalysis):  # noqa: D101
    __doc__ = PlainAnalysis.__doc__
    transform = PlainAnalysis.transform
    fit_transform = PlainAnalysis.fit_transform
