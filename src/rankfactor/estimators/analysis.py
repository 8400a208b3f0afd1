"""`RankFactorAnalysis` without its scikit-learn base: factors without labels."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Self

from rankfactor.engine.chain import Gibbs
from rankfactor.engine.fit import fit_posterior
from rankfactor.engine.vb import Settings
from rankfactor.errors import AUTO
from rankfactor.estimators.base import FactorModel, LikelihoodArgument
from rankfactor.estimators.large import (
    as_stream,
    cluster_of,
    fit_stream,
    stays_in_memory,
    surveyed,
)
from rankfactor.estimators.rare_values import for_rare_values
from rankfactor.features.plan import Blocks
from rankfactor.likelihoods import MarginRank
from rankfactor.model import Model
from rankfactor.shrinkage import AnyShrinkage
from rankfactor.typing import Floats


class PlainAnalysis(FactorModel):
    """Bayesian factor analysis of non-Gaussian data, without labels.

    Parameters
    ----------
    likelihood : None, name, DataLikelihood or dict, default None
        "margin_rank", "gaussian", "ordinal_probit", "ordinary_rank" or "neighbour_rank".
        How features relate to factors; ranks need no transform of the data. With ``blocks`` also a
        dictionary from block to any of these. None is "margin_rank" or, unless a margin is named,
        "ordinal_probit" for a table of more than 32,768 samples whose median feature has at least
        70 % of them at one value; a warning tells of it.
    n_factors : int or "auto", default "auto"
        "auto" chooses the number by parallel analysis of the ranks
        (`rankfactor.engine.parallel_analysis`): the number of eigenvalues of the table that exceed
        those of permuted tables, at least 1 and at most 50. ``posterior_.factor_count`` has the
        eigenvalues. A number is the maximum; factors that the data do not need switch off.
    margin : float or "auto", default "auto"
        Margin of the rank likelihood: the weight of the table against the prior. Larger values keep
        more and weaker factors, smaller ones fewer. "auto" is 0.05; if the number of factors is
        also "auto", it is larger for a table of fewer than 40 features, as in
        `RankFactorClassifier`. With a given number a larger margin would keep every factor.
        ``likelihood=MarginRank(margin_shape=...)`` infers it, which needs a strong prior.
    max_cuts : int, default 16
        Maximum number of cuts per feature in the rank likelihood, up to 254: the resolution of
        ranks.
    shrinkage : {"tpbn", "normal", "multiplicative_gamma"} or Shrinkage, default "tpbn"
        Prior of the loadings.
    blocks : None, list or dict, default None
        The block (source, modality) of every feature, in their order or by feature name. Each block
        has its own shrinkage scales, so that a factor can be switched off in one block and not in
        another, and may have its own likelihood; ``r2_by_block_`` is the variance of each block
        that a factor explains.
    covariates : list of str or None, default None
        Columns of X (or of an AnnData's obs) that are not features, such as age, sex or batch; text
        has one level per value. New tables need them as well.
    covariate_use : {"regress", "block"}, default "regress"
        "regress" removes the linear effect of the covariates from each feature on the rank scale
        (`rankfactor.estimators.RankResiduals`); "block" adds them as features of a block
        "covariates".
    engine : {"vb", "gibbs"} or Gibbs, default "vb"
        Variational Bayes, or Gibbs sampling initialised by it; `Gibbs` sets the number of draws,
        chains and so on.
    max_iter : int, default 500
        Maximum number of iterations.
    tol : float, default 2e-4
        Relative change of the ELBO at which the fit has converged.
    n_restarts : int, default 1
        Starting points; the fit with the highest ELBO is kept.
    checkpoint : path or None, default None
        Folder for checkpoints during the fit. A fit of the same problem with the same folder
        resumes from there. It needs an integer ``random_state``. With Gibbs sampling it also stores
        the chains, unless ``Gibbs(checkpoint=...)`` names another folder.
    missing_features : {"error", "missing"}, default "error"
        What to do when a new DataFrame lacks features of the model.
    random_state : int, RandomState or None
        Seed.
    n_threads : int or None
        Threads; None uses every core. Results do not depend on it.
    progress : callable or None
        Called with iteration, ELBO and its relative change. For a large table its method
        ``stage(name, done, total)``, if it has one, is called with the progress of reading, coding
        and passes.
    memory : str, float or None, default None
        Memory limit for codes and scores, such as "2GB"; above it they are kept in scratch files,
        and the table is read chunk by chunk. The model then keeps no training samples. None sets no
        limit.
    scratch : str or None, default None
        Folder of the scratch files; None uses the system's temporary folder.
    cluster : distributed.Client, str or None, default None
        A Dask cluster whose workers hold the samples of a large table: a client, the address of a
        scheduler ("tcp://host:8786") or "local:2" for two processes on this machine. The result is
        the same as in this process.
    views : None, list or dict, default None
        Deprecated: the former name of ``blocks``.

    Attributes
    ----------
    loadings_ : array, shape (n_features, n_factors)
        Loadings of the model, for scores of unit variance.
    structure_ : array, shape (n_features, n_factors)
        Correlations of features and scores in the training table, between -1 and 1: the loadings
        that tables, figures and reports show.
    scores_ : array, shape (n_samples, n_factors)
        Label-free scores of unit variance, ordered by the variance that the factors explain.
    elbo_ : float
    n_iter_ : int
    n_active_ : int
        Factors in use.
    blocks_ : array of str, shape (n_features,), or None
        The block of every feature of the model.
    r2_ : float
        Share of the variance of the features' ranks that the factors explain.
    r2_by_factor_ : Series
        Share that each factor explains; shares add up to ``r2_``.
    r2_by_block_ : DataFrame, blocks x factors
        Share of each block's variance that each factor explains.
    posterior_ : Posterior
    n_features_in_ : int
    feature_names_in_ : array
        Only if fitted to a table with names.
    """

    def __init__(
        self,
        likelihood: LikelihoodArgument | None = None,
        *,
        n_factors: int | str = "auto",
        margin: float | str = "auto",
        max_cuts: int = MarginRank.max_cuts,
        shrinkage: str | AnyShrinkage = "tpbn",
        blocks: Blocks = None,
        covariates: Sequence[str] | None = None,
        covariate_use: str = "regress",
        engine: str | Gibbs = "vb",
        max_iter: int = Settings.max_iter,
        tol: float = Settings.tol,
        n_restarts: int = 1,
        checkpoint: str | os.PathLike[str] | None = None,
        missing_features: str = "error",
        random_state: Any = None,
        n_threads: int | None = None,
        progress: Callable[[int, float, float], None] | None = None,
        memory: str | float | None = None,
        scratch: str | None = None,
        cluster: Any = None,
        views: Blocks = None,
    ) -> None:
        self.likelihood = likelihood
        self.n_factors = n_factors
        self.margin = margin
        self.max_cuts = max_cuts
        self.shrinkage = shrinkage
        self.blocks = blocks
        self.covariates = covariates
        self.covariate_use = covariate_use
        self.engine = engine
        self.max_iter = max_iter
        self.tol = tol
        self.n_restarts = n_restarts
        self.checkpoint = checkpoint
        self.missing_features = missing_features
        self.random_state = random_state
        self.n_threads = n_threads
        self.progress = progress
        self.memory = memory
        self.scratch = scratch
        self.cluster = cluster
        self.views = views

    @property
    def _margin(self) -> float | str:
        """Margin passed to the likelihood."""
        given = self.n_factors != AUTO and self.margin == "auto"
        return MarginRank.margin if given else self.margin

    def _build_model(self) -> Model:
        return Model(
            self.n_factors,
            self._data_part(MarginRank.name if self.likelihood is None else self.likelihood),
            loading_shrinkage=self._shrinkage_part(),
        )

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the factors.

        Parameters
        ----------
        X : DataFrame, array-like, sparse matrix, AnnData, path or TableStream
            Shape (n_samples, n_features); a path names a file that is read chunk by chunk
            (`rankfactor.data.streams`). NaN = missing; entries not stored in a sparse matrix are
            zero. A sparse matrix is densified for the Gaussian and ordinary rank likelihoods and if
            covariates are regressed out.
        y : ignored
        """
        settings, model = self._settings(), self._build_model()
        stream = as_stream(X, self, model, settings)
        if stream is not None:
            settings = replace(settings, seed=self._seed())
            keeps = stays_in_memory(X, self)
            with cluster_of(self, stream) as client:
                found = surveyed(stream, settings, self.memory, client)
                model = for_rare_values(self, model, found, settings.seed)
                fitted = fit_stream(self, model, stream, found, None, settings, keeps, client)
            return self._keep(fitted)
        plan, table = self._learn(X, model)
        settings = replace(settings, seed=self._seed())
        return self._keep(fit_posterior(model, plan, table, None, settings))

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Fit the factors and return the scores of the training samples."""
        return self.fit(X).scores_
