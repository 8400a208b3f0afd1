"""Base class of the estimators.

An estimator holds arguments: it checks them, builds a `Model` from parts and passes the table to
`rankfactor.engine.fit.fit_posterior`. All predictions come from its `Posterior`.

scikit-learn is imported only where one of its functions is needed, since importing it takes longer
than a small fit; `rankfactor.estimators.scikit_learn` adds its base classes.
"""

from __future__ import annotations

import inspect
import numbers
import os
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rankfactor.engine.chain import Gibbs
from rankfactor.engine.fit_settings import FitSettings
from rankfactor.engine.vb import Settings
from rankfactor.errors import InputError, check_count, check_path, did_you_mean
from rankfactor.estimators.large import predicted
from rankfactor.features.plan import Blocks, FeaturePlan, TrainingTable, remember_columns
from rankfactor.likelihoods import DATA_LIKELIHOODS, DataLikelihood, LikelihoodByBlock
from rankfactor.model import Model
from rankfactor.posterior import Posterior
from rankfactor.posterior.convergence import Convergence
from rankfactor.shrinkage import SHRINKAGE, AnyShrinkage
from rankfactor.typing import Floats, Strings

LikelihoodArgument = str | DataLikelihood[Any] | Mapping[str, str | DataLikelihood[Any]]
ENGINES: dict[str, Gibbs | None] = {"vb": None, "gibbs": Gibbs()}


class FactorModel:
    """Base of the estimators: arguments, their checks, and encoding."""

    # Set by the constructors of the estimators.
    n_factors: int | str
    margin: float | str
    likelihood: LikelihoodArgument | None
    max_cuts: int
    shrinkage: str | AnyShrinkage
    blocks: Blocks
    views: Blocks
    covariates: Sequence[str] | None
    covariate_use: str
    max_iter: int
    tol: float
    n_restarts: int
    checkpoint: str | os.PathLike[str] | None
    missing_features: str
    random_state: Any
    n_threads: int | None
    progress: Callable[[int, float, float], None] | None
    engine: str | Gibbs
    memory: str | float | None
    scratch: str | None
    cluster: Any
    posterior_: Posterior

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All arguments by name."""
        names = list(inspect.signature(type(self).__init__).parameters)[1:]
        return {name: getattr(self, name) for name in names}

    def set_params(self, **arguments: Any) -> Self:
        """Change some arguments."""
        for name, value in arguments.items():
            setattr(self, name, value)
        return self

    @abstractmethod
    def _build_model(self) -> Model:
        """Model of the estimator's arguments."""

    @classmethod
    def from_posterior(cls, posterior: Posterior, **arguments: Any) -> Self:
        """A fitted estimator from a posterior, such as one loaded from a model file.

        Parameters
        ----------
        posterior : Posterior
        **arguments
            Arguments of the estimator, such as ``missing_features`` or ``n_threads``. Others matter
            only for a new fit; the learned state is that of the posterior.
        """
        return cls(**arguments)._keep(posterior)

    def _keep(self, posterior: Posterior) -> Self:
        """Store a posterior and the attributes of its table that scikit-learn requires."""
        self.posterior_ = posterior
        remember_columns(self, posterior.plan)
        return self

    def _learn(self, X: Any, model: Model) -> tuple[FeaturePlan, TrainingTable]:
        """Feature plan of a table, and its values."""
        covariates = self.covariates
        return FeaturePlan.learn(
            X,
            covariates=None if covariates is None or not len(covariates) else covariates,
            covariate_use=self.covariate_use,
            blocks=self._blocks(),
            estimator=self,
            sparse=model.takes_sparse,
            exact=model.exact,
        )

    def _blocks(self) -> Blocks:
        """The blocks, also if given under the argument's former name."""
        if self.views is None:
            return self.blocks
        if self.blocks is not None:
            raise InputError("blocks and views are the same: leave views out.")
        warnings.warn("views is called blocks now: use blocks=.", FutureWarning, stacklevel=4)
        return self.views

    def _data_part(self, likelihood: LikelihoodArgument) -> DataLikelihood[Any]:
        if isinstance(likelihood, Mapping):
            parts = tuple(self._data_part(one) for one in likelihood.values())
            return LikelihoodByBlock(tuple(map(str, likelihood)), parts)
        if not isinstance(likelihood, str):
            return likelihood
        kind = registered("likelihood", likelihood, DATA_LIKELIHOODS)
        # Every argument that is also a field of the part.
        given = {"margin": self._margin, "max_cuts": self.max_cuts}
        known = {field.name for field in fields(kind)} & given.keys()
        if self._margin == "auto" and not kind.has_auto_margin:
            known -= {"margin"}
        return kind(**{name: given[name] for name in known})  # type: ignore[no-any-return]

    @property
    def _margin(self) -> float | str:
        """Margin passed to the likelihood."""
        return self.margin

    def _shrinkage_part(self) -> AnyShrinkage:
        if isinstance(self.shrinkage, str):
            part: type[AnyShrinkage] = registered("shrinkage", self.shrinkage, SHRINKAGE)
            return part.for_loadings()
        return self.shrinkage

    def _settings(self, **more: Any) -> FitSettings:
        """Checked settings of the fit; ``more`` are those of a classifier."""
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
        check_path("checkpoint", "a folder", self.checkpoint)
        return FitSettings(
            ascent=Settings(self.max_iter, self.tol, self.n_restarts),
            gibbs=self._gibbs(),
            n_threads=self.n_threads,
            progress=self.progress,
            checkpoint=self.checkpoint,
            **more,
        )

    def _seed(self) -> int:
        source = self.random_state
        if isinstance(source, numbers.Integral):
            source = np.random.RandomState(int(source))
        else:
            from sklearn.utils import check_random_state

            source = check_random_state(source)
        return int(source.randint(np.iinfo(np.int32).max))

    def _gibbs(self) -> Gibbs | None:
        """Settings of the sampler, None for variational Bayes."""
        gibbs: Any = self.engine
        if not isinstance(gibbs, Gibbs):
            gibbs = registered("engine", gibbs, ENGINES)
        path = self.checkpoint
        if gibbs is not None and gibbs.checkpoint is not None:
            path = gibbs.checkpoint
        elif gibbs is not None:
            gibbs = replace(gibbs, checkpoint=path)
        if path is not None and self.random_state is None:
            raise InputError(
                "a checkpoint can be resumed only with the same random numbers: set random_state "
                "to a whole number."
            )
        return gibbs  # type: ignore[no-any-return]

    def _check_fitted(self) -> None:
        """Refuse to predict before a fit, with scikit-learn's error."""
        if not hasattr(self, "posterior_"):
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(self, "posterior_")

    def _match(self, X: Any) -> Any:
        """Values of a new table in the columns of the model."""
        self._check_fitted()
        return self.posterior_.match(X, self.missing_features, estimator=self)

    def transform(self, X: Any) -> Floats:
        """Factor scores of samples.

        Parameters
        ----------
        X : DataFrame, array-like, sparse matrix or AnnData, shape (n_samples, n_features)
            A table with names is matched by them; NaN = missing. Also a path or a Dask collection,
            which are read chunk by chunk.

        Returns
        -------
        array, shape (n_samples, n_factors)
            Posterior means, computed without labels.
        """
        self._check_fitted()
        scores: Floats = predicted(self, "scores_of", X)
        return scores

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns of `transform`: factor1, factor2, ..."""
        self._check_fitted()
        return np.array([f"factor{k + 1}" for k in range(self.posterior_.n_factors)], dtype=object)

    def to_arviz(self) -> Any:
        """The draws of Gibbs sampling for ArviZ (`Posterior.to_arviz`)."""
        self._check_fitted()
        return self.posterior_.to_arviz()

    @property
    def loadings_(self) -> Floats:
        """Posterior mean loadings, shape (n_features, n_factors)."""
        return self.posterior_.loadings

    @property
    def scores_(self) -> Floats:
        """Label-free factor scores of the training samples, shape (n_samples, n_factors)."""
        return self.posterior_.scores.mean

    @property
    def blocks_(self) -> Strings | None:
        """The block of every feature of the model, shape (n_features,); None without blocks."""
        return self.posterior_.blocks

    @property
    def r2_(self) -> float:
        """Share of the variance of the features' ranks that the factors explain."""
        return self.posterior_.r2

    @property
    def r2_by_factor_(self) -> pd.Series:
        """Share of `r2_` that each factor explains; shares add up to it."""
        posterior = self.posterior_
        return pd.Series(posterior.shares, posterior.factor_names, name="r2")

    @property
    def r2_by_block_(self) -> pd.DataFrame:
        """Share of each block's variance that each factor explains, blocks x factors."""
        posterior = self.posterior_
        return pd.DataFrame(posterior.r2_by_block, posterior.block_names, posterior.factor_names)

    @property
    def structure_(self) -> Floats:
        """Correlations of features and factor scores, shape (n_features, n_factors)."""
        return self.posterior_.structure

    @property
    def block_shares_(self) -> pd.DataFrame:
        """Deprecated: the former name of `r2_by_block_`."""
        warnings.warn("block_shares_ is called r2_by_block_ now.", FutureWarning, stacklevel=2)
        return self.r2_by_block_

    @property
    def views_(self) -> Strings | None:
        """Deprecated: the former name of `blocks_`."""
        warnings.warn("views_ is called blocks_ now.", FutureWarning, stacklevel=2)
        return self.blocks_

    @property
    def view_shares_(self) -> pd.DataFrame:
        """Deprecated: the former name of `r2_by_block_`."""
        warnings.warn("view_shares_ is called r2_by_block_ now.", FutureWarning, stacklevel=2)
        return self.r2_by_block_

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


def registered(argument: str, name: str, registry: dict[str, Any]) -> Any:
    """Part of that name, or an error that lists the known names."""
    if name not in registry:
        raise InputError(
            f"{argument} must be one of {', '.join(registry)}, not {name!r}."
            f"{did_you_mean(name, registry)}"
        )
    return registry[name]
