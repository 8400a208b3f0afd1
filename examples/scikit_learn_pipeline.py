"""The estimators within scikit-learn: a pipeline, a grid search and cross-validation.

    python examples/scikit_learn_pipeline.py

Chooses the number of factors, whose scores a logistic regression classifies, within each training
part, and reports the AUC on the parts held out.
"""

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from rankfactor import RankFactorAnalysis, load_alzheimer


def main() -> None:
    data = load_alzheimer()
    impaired = data.labels["Impairment"] == "Impaired"
    pipeline = make_pipeline(
        RankFactorAnalysis(random_state=0, n_threads=1), LogisticRegression(max_iter=1000)
    )
    numbers = {"rankfactoranalysis__n_factors": [5, 20]}
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(pipeline, numbers, scoring="roc_auc", cv=3)
    areas = cross_val_score(search, data.table, impaired, scoring="roc_auc", cv=folds)
    print(f"AUC on held-out people: {areas.mean():.2f} (3 folds: {areas.round(2)})")


if __name__ == "__main__":
    main()
