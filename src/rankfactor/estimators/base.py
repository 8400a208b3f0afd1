"""What the estimators share.

An estimator checks its arguments, builds a `Model` of parts, hands coded data to the engine and
keeps the `Posterior`; everything it predicts comes from there.
"""

from __future__ import annotations

import math
import numbers
import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rankfactor.classifiers.deciders import make_decider
from rankfactor.classifiers.linear import encode_samples
from rankfactor.engine.calibration import ENOUGH, fit_again, refit_coefficients, retrain
from rankfactor.engine.chain import Gibbs, Record
from rankfactor.engine.checkpoint import Checkpoint, open_checkpoint
from rankfactor.engine.convergence import INTERRUPTED, Convergence
from rankfactor.engine.draw_store import open_store
from rankfactor.engine.draws import Draws, collect
from rankfactor.engine.gibbs import pooled, sample
from rankfactor.engine.interruption import Interruption
from rankfactor.engine.predictive import START_ITERATIONS, Predictive, train
from rankfactor.engine.vb import Fit, Settings, fit
from rankfactor.errors import InputError, check_count, counted, did_you_mean
from rankfactor.estimators.classify import Labels, calibrated, classify
from rankfactor.features.matching import model_values
from rankfactor.features.plan import TrainingTable, Views, with_views
from rankfactor.features.suspects import check_labels
from rankfactor.kernels.packed import Floats
from rankfactor.kernels.rng import Stream
from rankfactor.likelihoods import (
    DATA_LIKELIHOODS,
    DataLikelihood,
    Observed,
    ObservedArray,
)
from rankfactor.model import Model
from rankfactor.posterior.diagnostics import judged
from rankfactor.posterior.posterior import (
    Posterior,
    Strings,
    hash_of_codes,
    names_or_default,
    readable_order,
)
from rankfactor.shrinkage import SHRINKAGE, AnyShrinkage
from rankfactor.steps.score import ObservedView
from rankfactor.steps.workers import Workers, thread_count, workers

PRIOR_STEPS = 5  # of a mixture's parameters, at given scores and responsibilities
ENGINES: dict[str, Gibbs | None] = {"vb": None, "gibbs": Gibbs()}


class FactorModel(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What the estimators share: arguments, checks, fitting and encoding."""

    # Set by the constructors of the estimators.
    n_factors: int
    margin: float | str
    likelihood: str | DataLikelihood[Any] | None
    max_cuts: int
    shrinkage: str | AnyShrinkage
    views: Views
    covariates: Sequence[str] | None
    covariate_use: str
    max_iter: int
    tol: float
    n_restarts: int
    missing_features: str
    random_state: Any
    n_threads: int | None
    progress: Callable[[int, float, float], None] | None
    engine: str | Gibbs
    calibration: str = "none"

    @abstractmethod
    def _build_model(self) -> Model:
        """Model of the estimator's arguments."""

    def _data_part(self, likelihood: str | DataLikelihood[Any]) -> DataLikelihood[Any]:
        if not isinstance(likelihood, str):
            return likelihood
        kind = registered("likelihood", likelihood, DATA_LIKELIHOODS)
        # Every argument of ours that the part has a field for; the table settles an "auto" margin.
        known = {field.name for field in fields(kind)} & {"margin", "max_cuts"}
        if self.margin == "auto":
            known -= {"margin"}
        return kind(**{name: getattr(self, name) for name in known})  # type: ignore[no-any-return]

    def _with_margin(self, model: Model, n_features: int) -> Model:
        """The model with the margin for a table of so many features, where that is "auto"."""
        named = self.likelihood is None or isinstance(self.likelihood, str)
        if self.margin != "auto" or not named:
            return model
        return replace(model, data=model.data.for_table(n_features))

    def _shrinkage_part(self) -> AnyShrinkage:
        if isinstance(self.shrinkage, str):
            return registered("shrinkage", self.shrinkage, SHRINKAGE)()  # type: ignore[no-any-return]
        return self.shrinkage

    def _check_arguments(self) -> None:
        check_count("max_iter", self.max_iter)
        check_count("n_restarts", self.n_restarts)
        if self.n_threads is not None:
            check_count("n_threads", self.n_threads)
        if not isinstance(self.tol, numbers.Real) or not 0 <= self.tol < np.inf:
            raise InputError(f"tol must be a number of at least 0, not {self.tol!r}.")
        if self.missing_features not in ("error", "missing"):
            raise InputError(
                f"missing_features must be 'error' or 'missing', not {self.missing_features!r}."
            )

    def _fit(self, table: TrainingTable, labels: Labels | None, ctrl_c: Interruption) -> Self:
        """Fit to a checked table, and to labels where there are any."""
        model = self._build_model()
        n, n_features = table.values.shape
        engine = self._gibbs()
        if n < 2:
            raise InputError(
                f"Found array with n_samples={n}, 1 sample is not enough: at least 2 are needed."
            )
        if n < model.n_factors:
            raise InputError(
                f"n_factors={model.n_factors} needs at least as many samples, but the table has "
                f"{n}: lower n_factors."
            )
        if model.n_components is not None and n < model.n_components:
            raise InputError(
                f"n_components={model.n_components} needs at least as many samples, but the table "
                f"has {n}: lower n_components."
            )
        coding = model.data.learn(table.values)
        self._report_constant(n_features - len(coding.columns), n_features)
        if labels is not None:
            check_labels(table.given, labels.tasks, labels.codes)
        observed = coding.observe(table.values)
        model = self._with_margin(model, len(coding.columns))
        predictive = self._predictive(len(coding.columns))
        model = with_views(model, table.views, coding.columns)
        settings = Settings(self.max_iter, self.tol, self.n_restarts)
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        rng = np.random.default_rng(seed)
        rows = None if labels is None else ObservedArray(labels.signed)
        names = None if table.names is None else table.names.tolist()
        feature_names = names_or_default(names, "x", n_features)
        stream, store, disk = Stream.from_seed(seed), None, None
        if engine is not None:
            # A folder that cannot be used is refused before any work is done.
            store = open_checkpoint(engine, model, observed, rows, stream)
            features = feature_names[coding.columns]
            disk = open_store(engine, model, observed, rows, stream, features.tolist())
        with workers(self.n_threads) as pool:
            seen, start = rows, None
            if predictive is not None:
                seen = None
                most = min(self.max_iter, START_ITERATIONS)
                # Without a label weight, no training follows.
                warns = predictive.label_weight == 0
                settings = replace(settings, max_iter=most, warns=warns)
            result = fit(model, coding, observed, seen, settings, rng, pool, self.progress)
            if predictive is not None and rows is not None:
                with ctrl_c.holding():
                    result.z = encode_samples(model, result.data, pool)
                    start = (result.data.state.copy(), result.z.copy())
                    decider = make_decider(model, rows, result.z, rng, pool)
                if ctrl_c.came and not result.convergence.interrupted:
                    result.convergence = Convergence(INTERRUPTED, "the label-free start")
                    warnings.warn(result.convergence.warning, ConvergenceWarning, stacklevel=3)
                train(model, result, decider, predictive, pool, progress=self.progress)
            draws = None
            if engine is not None and result.convergence.interrupted:
                warnings.warn(
                    "interrupted before the first sweep: the variational fit that chains start "
                    "from is kept, and there are no draws.",
                    ConvergenceWarning,
                    stacklevel=3,
                )
            elif engine is not None:
                records = None if disk is None else disk.records
                draws = self._sample(
                    model, result, engine, stream, store, records, observed, rows, pool, ctrl_c
                )
            ctrl_c.hold()
            # Last of all: a prior may depend on the order in which the factors were fitted.
            order, sign = self._order_factors(model, result)
            if draws is not None:
                draws = draws.reordered(order, sign)
            # Scores and everything fitted to them are label-free: what a new sample would get.
            scores = encode_samples(model, result.data, pool, prior=result.prior)
            classifiers = None
            if labels is not None:
                classifiers, fitted = classify(model, labels, result, draws, scores, rng, pool)
                if self._calibrates(model, draws) and not result.convergence.interrupted:
                    enough = None
                    if predictive is not None and start is not None:
                        data = ObservedView(model.data_view, observed, start[0])
                        refit = retrain(model, data, start[1], predictive, seed, pool)
                        enough = None if self.calibration == "cross-validation" else ENOUGH
                    elif self.calibration == "refit":
                        refit = refit_coefficients(model, scores, fitted, pool, result.prior)
                    else:
                        refit = fit_again(model, coding, observed, settings, seed, pool)
                    quick = predictive is None and self.calibration == "refit"
                    try:
                        if ctrl_c.came and not quick:
                            raise KeyboardInterrupt
                        with ctrl_c.holding(False):
                            classifiers = calibrated(
                                model, labels, classifiers, scores, refit, enough
                            )
                    except KeyboardInterrupt:
                        result.convergence = Convergence(
                            INTERRUPTED, criterion=f"the fit itself is {result.convergence}"
                        )
                        warnings.warn(
                            "interrupted: the fit is kept, but its probabilities are not "
                            "calibrated.",
                            UserWarning,
                            stacklevel=3,
                        )
        if disk is not None and draws is not None:
            disk.finish(order, sign, None if classifiers is None else classifiers.row_names())
        self._remember_names(table)
        self.posterior_ = Posterior(
            model=model,
            feature_names=feature_names,
            named_features=table.names is not None,
            sample_names=names_or_default(table.sample_names, "sample", n),
            coding=coding,
            rows=result.data.state.rows,
            params=result.data.state.params,
            scores=scores,
            classifiers=classifiers,
            elbo=np.array(result.history.elbo),
            sd_w=np.array(result.history.sd_w),
            n_active=np.array(result.history.n_active),
            convergence=result.convergence,
            draws=draws,
            prior=result.prior.fresh(0),
            training="bayes" if predictive is None else "predictive",
            views=table.views,
            adjustment=table.adjustment,
            indicators=table.indicators,
            codes_sha256=hash_of_codes(observed),
        )
        if engine is not None and draws is not None:
            self._judge_chains(engine, draws)
        return self

    def _gibbs(self) -> Gibbs | None:
        """Settings of the sampler, None for variational Bayes."""
        if not isinstance(self.engine, Gibbs):
            return registered("engine", self.engine, ENGINES)  # type: ignore[no-any-return]
        if self.engine.checkpoint is not None and self.random_state is None:
            raise InputError(
                "a checkpoint can be resumed only with the same random numbers: set random_state "
                "to a whole number."
            )
        return self.engine

    def _calibrates(self, model: Model, draws: Draws | None) -> bool:
        """Whether decisions get a scale: draws of a linear probit's coefficients have their own."""
        assert model.label is not None
        own = draws is not None and model.label.normalised and model.n_components is None
        return self.calibration != "none" and not own

    def _predictive(self, n_features: int) -> Predictive | None:
        """Settings of predictive training of a table of so many features, None without it."""
        return None

    def _sample(
        self,
        model: Model,
        result: Fit,
        engine: Gibbs,
        stream: Stream,
        store: Checkpoint | None,
        records: Sequence[Record] | None,
        observed: Observed,
        labels: Observed | None,
        pool: Workers,
        ctrl_c: Interruption,
    ) -> Draws:
        """Sample from the fit on; its laws become those of the draws, in place."""
        progress = self.progress
        tell = None
        if progress is not None:

            def tell(done: int, total: int) -> None:
                progress(result.n_iter + done, math.nan, math.nan)

        n_threads = thread_count(self.n_threads)
        chains = sample(model, result, engine, stream, n_threads, tell, store, records)
        ctrl_c.hold()
        draws = collect(model, chains, observed, labels, engine.n_predict, pool)
        state = result.data.state
        state.rows = pooled([chain.rows for chain in chains])
        state.params = type(state.params).pool(draws.params)
        # A mixture's components cannot be averaged over draws; those of the fit are brought up to
        # the mean scores, whose unit is that of the draws.
        scores = pooled([chain.scores for chain in chains])
        for _ in range(PRIOR_STEPS):
            result.prior = result.prior.update(scores)
        return draws

    def _judge_chains(self, engine: Gibbs, draws: Draws) -> None:
        """Put the convergence of the chains in place of that of the fit which they start from."""
        ends = [draws.sweep[draws.chain == number].max() for number in np.unique(draws.chain)]
        done = max((int(min(ends)) - engine.burn_in) // engine.thin, 1)
        found = judged(self.posterior_, done)
        if (~np.isnan(draws.log_likelihood)).sum(axis=1).min() < engine.last:
            after = f"{done} of {counted(engine.n_draws, 'draw')} a chain"
            found = replace(found, state=INTERRUPTED, after=after)
        self.posterior_ = replace(self.posterior_, convergence=found)
        if not found.converged:
            warnings.warn(found.warning, ConvergenceWarning, stacklevel=4)

    def _report_constant(self, n_constant: int, n_features: int) -> None:
        if n_constant == n_features:
            raise InputError(
                "no feature varies: every column is constant or missing, so nothing can be fitted."
            )
        if n_constant:
            warnings.warn(
                f"{n_constant} of {n_features} features are constant or all missing; they are kept "
                "with zero loadings.",
                UserWarning,
                stacklevel=4,
            )

    @staticmethod
    def _order_factors(model: Model, result: Fit) -> tuple[NDArray[np.int64], Floats]:
        """Put the factors into a readable order, in place; return the order and the signs."""
        n_factors = result.z.order
        state = result.data.state
        noise = model.data.noise_variance(state.params)
        order, sign = readable_order(state.rows.mean[:, :n_factors], result.z.mean, noise)
        for item in (result.data, result.labels):
            if item is not None:
                extra = item.state.rows.order - n_factors
                full = np.append(order, np.arange(n_factors, n_factors + extra))
                signs = np.append(sign, np.ones(extra))
                item.state.rows = item.state.rows.reordered(full, signs)
        result.z = result.z.reordered(order, sign)
        result.prior = result.prior.reordered(order, sign)
        return order, sign

    def _match(self, X: Any) -> Any:
        """Values of a new table in the columns of the model."""
        check_is_fitted(self, "posterior_")
        return model_values(self.posterior_, X, self.missing_features, estimator=self)

    def _remember_names(self, table: TrainingTable) -> None:
        self.n_features_in_ = table.n_given
        if table.given_names is not None:
            self.feature_names_in_ = table.given_names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def transform(self, X: Any) -> Floats:
        """Factor scores of samples.

        Parameters
        ----------
        X : DataFrame, array-like, sparse matrix or AnnData, shape (n_samples, n_features)
            A table with names is matched by them; NaN = missing.

        Returns
        -------
        array, shape (n_samples, n_factors)
            Posterior means, without any label seen.
        """
        values = self._match(X)
        with workers(self.n_threads) as pool:
            return self.posterior_.encode(values, pool).mean

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns of `transform`: factor1, factor2, ..."""
        check_is_fitted(self, "posterior_")
        return np.array([f"factor{k + 1}" for k in range(self.posterior_.n_factors)], dtype=object)

    @property
    def loadings_(self) -> Floats:
        """Posterior mean loadings, shape (n_features, n_factors)."""
        return self.posterior_.loadings

    @property
    def scores_(self) -> Floats:
        """Label-free factor scores of the training samples, shape (n_samples, n_factors)."""
        return self.posterior_.scores.mean

    @property
    def views_(self) -> Strings | None:
        """The view of every feature of the model, shape (n_features,); None without views."""
        return self.posterior_.views

    @property
    def view_shares_(self) -> pd.DataFrame:
        """Share of each view's variance that each factor has, views x factors."""
        posterior = self.posterior_
        return pd.DataFrame(posterior.view_shares, posterior.view_names, posterior.factor_names)

    @property
    def elbo_(self) -> float:
        """Evidence lower bound of the fit."""
        return float(self.posterior_.elbo[-1])

    @property
    def n_iter_(self) -> int:
        """Number of iterations."""
        return len(self.posterior_.elbo) - 1

    @property
    def convergence_(self) -> Convergence:
        """How the fit ended (converged, not converged or interrupted), and by which criterion."""
        return self.posterior_.convergence

    @property
    def converged_(self) -> bool:
        """Whether the fit has converged."""
        return self.posterior_.converged

    @property
    def n_active_(self) -> int:
        """Number of factors in use."""
        return int(self.posterior_.active.sum())

    @property
    def _n_features_out(self) -> int:
        return self.posterior_.n_factors

    def __sklearn_tags__(self) -> Any:
        """Missing values and sparse matrices are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def registered(argument: str, name: str, registry: dict[str, Any]) -> Any:
    """Part of that name, or an error that lists the names there are."""
    if name not in registry:
        raise InputError(
            f"{argument} must be one of {', '.join(registry)}, not {name!r}."
            f"{did_you_mean(name, registry)}"
        )
    return registry[name]
