"""scikit-learn's own checks, with the reasons for expected failures."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankfactor import RankFactorAnalysis, RankFactorClassifier

OWN_CLASSES = "every label column has classes of its own, so several columns give lists"
EXPECTED_FAILURES = {
    "check_classifier_multioutput": OWN_CLASSES,
    "check_classifiers_multilabel_output_format_decision_function": OWN_CLASSES,
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.*features are constant or all missing:UserWarning")
@parametrize_with_checks(
    [RankFactorClassifier(n_factors=2, max_iter=10, random_state=0)],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.*features are constant or all missing:UserWarning")
@parametrize_with_checks(
    [
        RankFactorClassifier(n_factors=2, max_iter=30, random_state=0),
        RankFactorAnalysis(n_factors=2, max_iter=30, random_state=0),
        RankFactorClassifier("G-L-Probit", n_factors=2, max_iter=30, random_state=0),
        RankFactorClassifier(
            "G-NL-BSVM",
            experts="per_component",
            n_components=2,
            n_factors=2,
            max_iter=30,
            random_state=0,
        ),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learn_after_more_iterations_and_of_other_models(estimator, check):
    check(estimator)
