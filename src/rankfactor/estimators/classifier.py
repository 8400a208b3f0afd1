"""`RankFactorClassifier` without its scikit-learn base: factors and their classifiers."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd

from rankfactor.data.streams import TableStream
from rankfactor.engine.chain import Gibbs
from rankfactor.engine.fit import fit_posterior
from rankfactor.engine.fit_settings import (
    DEFAULT_PREDICTIVE,
    FitSettings,
    Labels,
    why_no_residual,
)
from rankfactor.engine.predictive import Predictive, why_not_predictive
from rankfactor.engine.vb import Settings
from rankfactor.errors import AUTO, InputError
from rankfactor.estimators.base import LikelihoodArgument, registered
from rankfactor.estimators.deciding import Deciding
from rankfactor.estimators.large import (
    as_stream,
    cluster_of,
    core_of,
    fit_stream,
    labelled,
    labels_of,
    stays_in_memory,
    surveyed,
)
from rankfactor.estimators.presets import local_parts
from rankfactor.estimators.rare_values import for_rare_values
from rankfactor.features.matching import is_annotated, opened_labels, refuse_shuffled
from rankfactor.features.plan import Blocks
from rankfactor.folds import group_numbers
from rankfactor.latent import MixedExperts
from rankfactor.likelihoods import LABEL_LIKELIHOODS, LabelLikelihood, MarginRank
from rankfactor.model import Model
from rankfactor.presets import PRESETS, code_of
from rankfactor.shrinkage import AnyShrinkage
from rankfactor.tasks import (
    ClassWeight,
    encode_labels,
    signed_labels,
)

TRAINING = ("auto", "bayes", "label-free", "predictive")
CALIBRATION = ("refit", "cross-validation", "none")


class PlainClassifier(Deciding):
    """Discriminative Bayesian factor analysis of non-Gaussian data.

    Factors are fitted to a table and to one or more label columns; new samples are classified by
    the factors alone. Missing values in the table and missing labels are allowed.

    Parameters
    ----------
    model : str, default "R-L-BSVM"
        "R-L-BSVM" ("rank"), "G-L-BSVM" ("gaussian"), "G-L-Probit" ("gaussian-probit"), "OR-L-BSVM"
        ("ordinary-rank"), "OR-L-Probit" ("ordinary-rank-probit"), "R-NL-BSVM" ("rank-nonlinear")
        or "G-NL-BSVM" ("gaussian-nonlinear"): data likelihood (R max-margin rank, G Gaussian, OR
        ordinary rank), linear or nonlinear decisions, and classifier. The code or the plain name
        in brackets.
    n_factors : int or "auto", default 20
        Maximum number of factors; those that the data do not need switch off. "auto" chooses the
        number by parallel analysis of the ranks (`rankfactor.engine.parallel_analysis`): the number
        of eigenvalues of the table that exceed those of permuted tables, at least 1 and at most 50.
        ``posterior_.factor_count`` has the eigenvalues.
    margin : float or "auto", default "auto"
        Margin of the rank likelihood: the weight of the table against the prior. Larger values
        keep more and weaker factors, smaller ones fewer. "auto" is 0.05; for a table of fewer than
        40 features it is 2 divided by their number, at most 0.2, since few features weigh too
        little. ``posterior_.model.data.margin`` is the value used.
        ``likelihood=MarginRank(margin_shape=...)`` infers it, which needs a strong prior.
    max_cuts : int, default 16
        Maximum number of cuts per feature in the rank likelihood, up to 254: the resolution of
        ranks.
    class_weight : None, "balanced" or dict, default None
        Weight of a class; with several label columns also a dictionary from the column's name to
        any of these.
    training : {"auto", "bayes", "label-free", "predictive"}, default "auto"
        "label-free" fits factors to the table alone and classifiers to their scores, and to what
        the factors leave of the table (``residual``). "bayes" is joint mean field; afterwards the
        coefficients are fitted once more to the label-free scores, which are what new samples
        have. "predictive" fits factors to the table and then changes them so that label-free
        scores separate the classes; ``elbo_`` is then the table's, without labels. "auto" is
        "bayes" for a table of at most 40 features, whose factors leave next to nothing out, and
        under Gibbs sampling; "predictive" from 500 samples on where the model has it; else
        "label-free". If label-free factors explain less than 0.1 % of the table, it is
        "label-free", or "bayes" if decisions have no second part, with a warning
        (docs/reference/defaults.md). ``posterior_.training`` says which it was.
    residual : "auto" or bool, default "auto"
        Whether decisions have a second part beside the factors: one weight per feature for its
        residual, so that classes that are not visible in the leading factors can still be
        predicted. "auto" is True after label-free training (for a nonlinear model only below 500
        samples), and False with Gibbs sampling. ``residual_share_`` is its share of a decision.
    label_weight : float or "auto", default 3.0
        Weight of the labels in predictive training; "auto" chooses 0, 1, 3 or 10 by
        cross-validation within the training data, which costs twelve more fits.
    experts : {"auto", "kernel", "mixed", "per_component"}, default "auto"
        How a nonlinear model decides (docs/howto/models.md). "kernel": a radial kernel on
        label-free scores, beside a linear part, with settings chosen on held-out labels; "mixed":
        local deviations from a shared classifier, fitted to their mixed decision after the factors;
        "per_component": the paper's Dirichlet-process mixture of the scores, with one classifier
        per component. "auto" is "kernel" if it predicts held-out labels better than a linear
        classifier by two standard errors, else the linear model; "mixed" with Gibbs sampling.
    n_components : int, default 10
        Maximum number of local classifiers of a nonlinear model; a kernel has none.
    calibration : {"refit", "cross-validation", "none"}, default "refit"
        How probabilities are calibrated: by a scale of a label column's decisions that maximises
        the likelihood of held-out training labels. "refit" holds out the labels of a fifth of the
        samples in turn from the coefficients, and from predictive training as a whole;
        "cross-validation" also from the joint fit, which costs five more fits; "none" leaves
        decisions unchanged. Predicted classes are the same. A label column with fewer than five
        labels of a class is not calibrated.
    likelihood, classifier : part or name, optional
        Data likelihood or classifier instead of the model's own. Unless a likelihood or a margin is
        named, a table of more than 32,768 samples whose median feature has at least 70 % of them at
        one value is fitted by ordinal probit in place of max-margin ranks, with a warning. With
        ``blocks`` the likelihood may be a dictionary, such as ``{"survey": "ordinal_probit",
        "proteins": "margin_rank"}``.
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
    classes_ : array, or list of arrays
        Labels in increasing order; a list if there are several label columns.
    coef_, intercept_ : array, shapes (n_rows, n_factors) and (n_rows,)
        Coefficients used for prediction, fitted to label-free scores. One row for two classes, else
        one per class; label columns one after another.
    residual_share_ : array, shape (n_rows,)
        Share of each decision's variance over the training samples due to the residual rather than
        the factors; zero for decisions without a residual part.
    joint_coef_ : array, shape (n_rows, n_factors)
        Coefficients of the joint fit; equal to ``coef_`` after other training.
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
    n_components_used_ : int
        Components of a nonlinear model with at least 1 % of the training samples.
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

    Examples
    --------
    >>> from rankfactor import RankFactorClassifier, load_alzheimer
    >>> data = load_alzheimer()
    >>> model = RankFactorClassifier(n_factors=5, random_state=0)
    >>> model = model.fit(data.table, data.labels["Impairment"])
    >>> model.predict_proba(data.table).shape
    (333, 2)
    """

    def __init__(
        self,
        model: str = "R-L-BSVM",
        *,
        n_factors: int | str = 20,
        margin: float | str = "auto",
        max_cuts: int = MarginRank.max_cuts,
        class_weight: ClassWeight = None,
        training: str = "auto",
        residual: bool | str = "auto",
        label_weight: float | str = Predictive.label_weight,
        experts: str = "auto",
        n_components: int = MixedExperts.n_components,
        calibration: str = "refit",
        likelihood: LikelihoodArgument | None = None,
        classifier: str | LabelLikelihood | None = None,
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
        self.model = model
        self.n_factors = n_factors
        self.margin = margin
        self.max_cuts = max_cuts
        self.class_weight = class_weight
        self.training = training
        self.residual = residual
        self.label_weight = label_weight
        self.experts = experts
        self.n_components = n_components
        self.calibration = calibration
        self.likelihood = likelihood
        self.classifier = classifier
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

    def _build_model(self) -> Model:
        preset = PRESETS[code_of(self.model)]
        classifier = preset.label if self.classifier is None else self.classifier
        if isinstance(classifier, str):
            classifier = registered("classifier", classifier, LABEL_LIKELIHOODS)()
        sampled = self.experts == "auto" and self.engine != "vb"
        experts = "mixed" if sampled else self.experts
        return Model(
            self.n_factors,
            self._data_part(preset.data if self.likelihood is None else self.likelihood),
            classifier,
            loading_shrinkage=self._shrinkage_part(),
            **local_parts(preset, experts, self.n_components),
        )

    def _classifier_settings(self, model: Model) -> FitSettings:
        """All settings of a fit; unsupported training is refused."""
        registered("calibration", self.calibration, dict.fromkeys(CALIBRATION))
        if self.training not in TRAINING:
            raise InputError(
                f"training must be one of {', '.join(TRAINING)}, not {self.training!r}."
            )
        predictive = DEFAULT_PREDICTIVE
        if self.training != "bayes" and self.label_weight != "auto":
            if isinstance(self.label_weight, str):
                raise InputError(
                    f"label_weight must be a number or 'auto', not {self.label_weight!r}."
                )
            predictive = Predictive(self.label_weight)
        if self.residual not in (AUTO, True, False):
            raise InputError(f"residual must be 'auto', True or False, not {self.residual!r}.")
        settings = self._settings(
            training=self.training,
            predictive=predictive,
            residual=self.residual,
            calibration=self.calibration,
        )
        if settings.gibbs is not None and settings.trains(model, 0, 0) == "label-free":
            raise InputError(
                "Gibbs sampling fits factors jointly with the labels: use experts='mixed' or "
                "'per_component' and another training, or engine='vb'."
            )
        missing = why_not_predictive(model, settings.gibbs)
        if missing is not None and self.training == "predictive":
            raise InputError(missing)
        missing = why_no_residual(model, settings.gibbs)
        if missing is not None and self.residual is True:
            raise InputError(missing)
        return settings

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Fit factors and classifiers.

        Parameters
        ----------
        X : DataFrame, array-like, sparse matrix, AnnData, path or TableStream
            Shape (n_samples, n_features); a path names a file that is read chunk by chunk
            (`rankfactor.data.streams`). NaN = missing; entries not stored in a sparse matrix are
            zero. A sparse matrix is densified for the Gaussian and ordinary rank likelihoods and if
            covariates are regressed out. Columns of words become 0/1 features
            (`rankfactor.features.words`).
        y : array-like, Series or DataFrame, shape (n_samples,) or (n_samples, n_tasks)
            One or more label columns; NaN or None = unknown. A Series or DataFrame with the index
            of a DataFrame X in a different order is refused rather than matched by position. With
            an AnnData X also the name, or a list of names, of columns of its obs.
        groups : array-like or Series, shape (n_samples,), optional
            Samples of a group, such as those of a patient, stay together when labels are held out:
            by calibration, by ``label_weight="auto"`` and, with more than 32,768 samples, by
            predictive training.

        Warns
        -----
        LabelWarning
            If a column separates the classes perfectly by itself, or classes differ only in case
            or blanks (`rankfactor.features.suspects`).
        """
        model = self._build_model()
        settings = self._classifier_settings(model)
        stream = as_stream(X, self, model, settings)
        if stream is not None:
            y = opened_labels(X, y) if is_annotated(X) else y
            return self._fit_stream(X, labelled(stream, y), y, groups, model, settings)
        y = opened_labels(X, y)
        plan, table = self._learn(X, model)
        refuse_shuffled(table.given, y)
        tasks, class_index = encode_labels(y, len(table.sample_names))
        together = None
        if groups is not None:
            index = getattr(table.given, "index", pd.RangeIndex(len(table.sample_names)))
            together = group_numbers(groups, index)
        training = settings.trains(model, *table.values.shape)
        if self.label_weight == "auto" and training == "predictive":
            from rankfactor.estimators.label_weight import choose_label_weight

            self.label_weight_ = choose_label_weight(
                self, table.given, tasks, class_index, self._seed(), together
            )
            settings = replace(settings, predictive=Predictive(self.label_weight_))
        signed = signed_labels(tasks, class_index, self.class_weight)
        labels = Labels(tasks, class_index, signed, together)
        settings = replace(settings, seed=self._seed())
        self._keep(fit_posterior(model, plan, table, labels, settings))
        self._single = not isinstance(y, pd.DataFrame) and np.asarray(y).ndim == 1
        return self

    def _fit_stream(
        self,
        X: Any,
        stream: TableStream,
        y: Any,
        groups: Any,
        model: Model,
        settings: FitSettings,
    ) -> Self:
        """Fit to a table that is read chunk by chunk."""
        settings = replace(settings, seed=self._seed())
        with cluster_of(self, stream) as client:
            found = surveyed(stream, settings, self.memory, client)
            y = labels_of(stream, y, found.sample_names)
            tasks, class_index = encode_labels(y, found.n_rows)
            together = None
            groups = getattr(stream, "groups", None) if groups is None else groups
            if groups is not None:
                names = found.sample_names
                index = pd.RangeIndex(found.n_rows) if names is None else pd.Index(names)
                together = group_numbers(groups, index)
            model = for_rare_values(self, model, found, settings.seed)
            training = settings.trains(model, found.n_rows, stream.n_columns)
            if self.label_weight == "auto" and training == "predictive":
                from rankfactor.estimators.label_weight import choose_label_weight

                chooser = copy(self).set_params(likelihood=model.data)
                some, rows = core_of(found, settings.seed)
                of_some = None if together is None else pd.factorize(together[some])[0]
                self.label_weight_ = choose_label_weight(
                    chooser, rows, tasks, class_index[some], settings.seed, of_some
                )
                settings = replace(settings, predictive=Predictive(self.label_weight_))
            signed = signed_labels(tasks, class_index, self.class_weight)
            labels, keeps = Labels(tasks, class_index, signed, together), stays_in_memory(X, self)
            fitted = fit_stream(self, model, stream, found, labels, settings, keeps, client)
        self._keep(fitted)
        self._single = not isinstance(y, pd.DataFrame) and np.asarray(y).ndim == 1
        return self
