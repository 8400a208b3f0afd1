"""The model file: a fitted model in an archive of arrays with a JSON header.

The header contains the format's name and version, the library's version, the parts with their
hyper-parameters, a summary of the training, and the provenance given by the writer. Feature names,
cuts, classes, loadings and so on are arrays, exact to the last bit. docs/reference/model-file.md
describes the members; `rankfactor.storage.archive` the archive.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
from numba.core.errors import NumbaError

from rankfactor.__about__ import __version__
from rankfactor.classifiers import Gated, Kernel, Residual
from rankfactor.classifiers.kernel import RadialFeatures
from rankfactor.errors import InputError
from rankfactor.features.covariates import Adjustment, Design, RankRegression
from rankfactor.features.plan import FeaturePlan
from rankfactor.latent import Gates, InBasis, Mixture, ScorePrior
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import LikelihoodByBlock
from rankfactor.model import Model
from rankfactor.posterior import Classifiers, Posterior
from rankfactor.posterior.convergence import CONVERGED, NOT_CONVERGED, Convergence
from rankfactor.posterior.diagnostics import judged
from rankfactor.posterior.draws import Draws, ScaleDraws
from rankfactor.posterior.effects import Effects
from rankfactor.posterior.factor_count import METHOD, FactorCount
from rankfactor.posterior.samples import SampleSummary
from rankfactor.posterior.stability import Stability
from rankfactor.posterior.variance_explained import VarianceExplained
from rankfactor.steps.workers import Workers
from rankfactor.storage.archive import (
    Arrays,
    Format,
    read_archive,
    read_header,
    stacked,
    unstacked,
    write_archive,
)
from rankfactor.storage.model_shapes import check_arrays
from rankfactor.tasks import Task

FORMAT = Format(
    "rankfactor model", "model file", "copy it again, or fit the model again", version=1
)
# Features that a reader must support: without them it would predict something else.
COVARIATES, INDICATORS = "covariates", "indicators"
NO_SAMPLES = "sample_summary"  # instead of the training samples
BY_BLOCK = "likelihood_by_block"
BASIS = "basis"  # coordinates of the scores other than those of their prior
RESIDUAL = "residual"  # the second part of decisions
KERNEL = "kernel"  # a classifier with a radial kernel
KNOWN = (COVARIATES, INDICATORS, NO_SAMPLES, BY_BLOCK, BASIS, RESIDUAL, KERNEL)
_SUMMARISED = ("mean", "moment", "spread", "sd", "higher")
# Entries on the training; files of earlier versions lack some of them.
_SUMMARIES = {
    "variance": VarianceExplained,
    "factor_count": FactorCount,
    "effects": Effects,
    "stability": Stability,
}
# What putting together a model from a file that is none raises.
_NOT_A_MODEL = (
    *(LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError),
    *(np.linalg.LinAlgError, MemoryError, NumbaError),
)
_DRAWN = ("chain", "loadings", "coefficients", "chosen", "log_likelihood", "sweep")


def save_model(
    model: Any,
    path: str | os.PathLike[str],
    *,
    provenance: Mapping[str, Any] | None = None,
    training_samples: bool = True,
) -> Path:
    """Write a fitted model to a file.

    Parameters
    ----------
    model : estimator or Posterior
        Fitted; for an estimator, its ``posterior_`` is saved.
    path : path
        Replaced if it exists; its folder must exist.
    provenance : mapping, optional
        Plain values on the origin of the model, such as the table's name and the settings of the
        fit; `model_header` returns them.
    training_samples : bool, default True
        Store the names, label-free scores and labels of the training samples, which the report
        shows. Predictions are the same without them; `load_model` then returns a posterior with
        only their number, their class counts and the moments of their scores. Single observed
        values of features (cuts, knots of covariates) and the landmarks of a kernel are stored
        either way: docs/reference/model-file.md.
    """
    path, posterior = Path(path), getattr(model, "posterior_", model)
    if not isinstance(posterior, Posterior):
        name = type(model).__name__
        if hasattr(model, "fit"):
            raise InputError(f"this {name} is not fitted: fit it before it is saved.")
        raise InputError(f"{name} cannot be saved: give an estimator or a posterior.")
    if not training_samples:
        posterior = posterior.without_training_samples()
    header, arrays = _disassemble(posterior)
    header["provenance"] = dict(provenance or {})
    header["arrays"] = {
        name: {"dtype": str(one.dtype), "shape": list(one.shape)} for name, one in arrays.items()
    }
    write_archive(path, header, arrays)
    return path


def load_model(path: str | os.PathLike[str]) -> Posterior:
    """Read a fitted model from a file.

    Returns
    -------
    Posterior
        With ``predict``, ``predict_proba``, ``decision_function``, ``transform`` and ``explain``;
        `RankFactorClassifier.from_posterior` turns it into an estimator.
    """
    path = Path(path)
    header, arrays = read_archive(path, FORMAT, KNOWN)
    try:
        n_factors = Model.from_dict(header["model"]).n_factors
        check_arrays(arrays, n_factors, len(header["tasks"]))
        posterior = _assemble(header, _nested(arrays))
        _try_out(posterior)
    except _NOT_A_MODEL as problem:
        raise FORMAT.damaged(path, repr(problem)) from problem
    return posterior


def _try_out(posterior: Posterior) -> None:
    """Predict from a sample without values: what contradicts itself in a file fails here."""
    values, pool = np.full((1, len(posterior.feature_names)), np.nan), Workers()
    if posterior.classifiers is None:
        posterior.encode(values, pool)
    else:
        posterior.probabilities(posterior.decide(values, pool))


def model_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the header of a model file: versions, parts, summary and provenance.

    Raises
    ------
    InputError
        As `load_model`.
    """
    return read_header(Path(path), FORMAT, KNOWN)


def _summary(posterior: Posterior) -> dict[str, Any]:
    """Summary of a fit that can be read without the arrays."""
    classifiers = posterior.classifiers
    classes: dict[str, Any] = {}
    if classifiers is not None:
        for task, counted in zip(classifiers.tasks, posterior.samples.counts, strict=True):
            *counts, missing = counted.tolist()
            classes[task.name] = {
                "classes": dict(zip(map(str, task.classes), counts, strict=True)),
                "missing": missing,
            }
    return {
        "model": posterior.model.name,
        "n_samples": posterior.samples.n_samples,
        "n_features": len(posterior.feature_names),
        "n_features_that_vary": len(posterior.coding.columns),
        "n_factors": posterior.n_factors,
        "n_factors_by": None if posterior.factor_count is None else METHOD,
        "n_active": int(posterior.active.sum()),
        "n_iter": len(posterior.elbo) - 1,
        "elbo": float(posterior.elbo[-1]),
        "converged": posterior.converged,
        "convergence": asdict(posterior.convergence),
        "training": posterior.training,
        "engine": "vb" if posterior.draws is None else "gibbs",
        "tasks": classes,
    }


def _disassemble(posterior: Posterior) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a posterior."""
    left_out, classifiers, draws = posterior.left_out, posterior.classifiers, posterior.draws
    tasks = () if classifiers is None else classifiers.tasks
    parts: dict[str, Any] = {
        "feature_names": posterior.feature_names,
        "elbo": posterior.elbo,
        "sd_w": posterior.sd_w,
        "n_active": posterior.n_active,
        "rows": posterior.rows,
    }
    if left_out is None:
        parts |= {"sample_names": posterior.sample_names, "scores": posterior.scores}
    parts |= {"coding": posterior.coding, "params": posterior.params}
    prior = posterior.prior
    if isinstance(prior, InBasis):
        parts[BASIS], prior = prior.basis, prior.inner
    if isinstance(prior, Mixture):
        parts["prior"] = _laws(prior)
    for name in _SUMMARIES:
        if getattr(posterior, name) is not None:
            parts[name] = getattr(posterior, name)
    if classifiers is not None:
        parts["coefficients"] = classifiers.rows
        parts["joint_coefficients"] = classifiers.joint_rows
        if classifiers.experts is not None:
            parts |= _experts(classifiers.experts)
        if classifiers.residual is not None:
            parts[RESIDUAL] = classifiers.residual
        if left_out is None:
            parts["label_codes"] = classifiers.class_index
        parts["probability_scale"] = classifiers.scale
        parts |= {f"classes_{number}": task.classes for number, task in enumerate(tasks)}
    if draws is not None:
        parts["draws"] = {
            **{name: getattr(draws, name) for name in _DRAWN},
            "params": stacked(draws.params),
            "classifiers": stacked(draws.classifiers),
            **stacked([_experts(one) for one in draws.experts]),
            "prior": stacked([_laws(one) for one in draws.priors]),
            "scales": draws.scales.values,
        }
        if left_out is None:
            parts["draws"]["decisions"] = draws.decisions
    needs = [one for one in (BASIS, RESIDUAL, KERNEL) if one in parts]
    summary = _summary(posterior)
    header: dict[str, Any] = {
        "format": FORMAT.name,
        "version": FORMAT.version,
        "needs": needs,
        "library": __version__,
        "model": posterior.model.to_dict(),
        "tasks": [task.name for task in tasks],
        **{name: summary[name] for name in ("converged", "convergence", "training")},
        "named_features": posterior.named_features,
        "draws": draws is not None,
        "summary": summary,
        "codes_sha256": posterior.codes_sha256,
    }
    if left_out is not None:
        needs.append(NO_SAMPLES)
        parts["samples"] = {name: getattr(left_out, name) for name in _SUMMARISED}
        parts["samples"] |= {f"counts_{n}": counts for n, counts in enumerate(left_out.counts)}
        header[NO_SAMPLES] = {
            "n_samples": left_out.n_samples,
            "n_components": left_out.n_components,
            "mixing": left_out.mixing,
        }
    if isinstance(posterior.model.data, LikelihoodByBlock):
        needs.append(BY_BLOCK)
    if posterior.blocks is not None:
        parts["views"] = posterior.blocks
    adjustment, words = posterior.plan.covariates, posterior.plan.words
    if adjustment is not None:
        needs.append(COVARIATES)
        header[COVARIATES] = {
            "use": "view" if adjustment.use == "block" else adjustment.use,
            "columns": adjustment.design.to_list(),
        }
        if adjustment.regression is not None:
            parts[COVARIATES] = adjustment.regression
    if words is not None:
        needs.append(INDICATORS)
        header[INDICATORS] = words.to_list()
    return header, _named(parts)


def _experts(experts: Gated | Kernel) -> dict[str, Any]:
    if isinstance(experts, Kernel):
        return {KERNEL: experts.features, "experts": experts.rows}
    return {"gates": experts.gates, "experts": experts.rows}


def _laws(prior: Mixture) -> dict[str, Any]:
    """Learned state of a mixture, without the samples."""
    return {name: getattr(prior, name) for name in ("centres", "psi", "sticks", "alpha")}


def _named(parts: dict[str, Any], prefix: str = "") -> Arrays:
    """All arrays within dictionaries, dataclasses and tuples, their names joined by dots."""
    result: Arrays = {}
    for name, value in parts.items():
        if is_dataclass(value):
            value = {field.name: getattr(value, field.name) for field in fields(value)}
        elif isinstance(value, tuple):
            value = {str(number): one for number, one in enumerate(value)}
        if isinstance(value, dict):
            result |= _named(value, f"{prefix}{name}.")
        else:
            result[prefix + name] = np.asarray(value)
    return result


def _nested(arrays: Arrays) -> dict[str, Any]:
    """Inverse of `_named`, with dictionaries for dataclasses."""
    parts: dict[str, Any] = {}
    for name, value in arrays.items():
        *outer, last = name.split(".")
        inner = parts
        for one in outer:
            inner = inner.setdefault(one, {})
        inner[last] = value
    return parts


def _assemble(header: dict[str, Any], parts: dict[str, Any]) -> Posterior:
    """Posterior from a header and nested arrays; LookupError, TypeError, ValueError if invalid."""
    model = Model.from_dict(header["model"])
    n_tasks, n_factors = len(header["tasks"]), model.n_factors
    left_out = _left_out(header, parts)
    if left_out is not None:
        nobody = Normal.isotropic(np.zeros((0, n_factors)), 1.0)
        parts |= {"sample_names": np.zeros(0, "<U1"), "scores": vars(nobody)}
        parts["label_codes"] = np.zeros((0, n_tasks), np.int64)
    classifiers = None
    if n_tasks:
        tasks = [Task(name, parts[f"classes_{n}"]) for n, name in enumerate(header["tasks"])]
        classifiers = Classifiers(
            tuple(tasks),
            Normal(**parts["coefficients"]),
            Normal(**parts["joint_coefficients"]),
            parts["label_codes"],
            None if model.linear else _built_experts(parts),
            # Files from before calibration have no scales.
            parts.get("probability_scale", np.ones(n_tasks)),
            Residual(**parts[RESIDUAL]) if RESIDUAL in parts else None,
        )
    # Older files do not name covariates or indicators.
    adjustment, indicators = header.get(COVARIATES), header.get(INDICATORS)
    if adjustment is not None:
        regression = RankRegression(**parts[COVARIATES]) if COVARIATES in parts else None
        columns = Design.from_list(adjustment["columns"])
        adjustment = Adjustment(adjustment["use"].replace("view", "block"), columns, regression)
    latent = model.latent
    prior = latent if isinstance(latent, ScorePrior) else _mixture(latent, parts["prior"])
    basis = parts.get(BASIS)
    posterior = Posterior(
        model=model,
        plan=FeaturePlan.stored(
            parts["feature_names"],
            bool(header["named_features"]),
            parts.get("views"),
            None if indicators is None else Design.from_list(indicators),
            adjustment,
        ),
        sample_names=parts["sample_names"],
        coding=model.data.coding_of(parts["coding"]),
        rows=Normal(**parts["rows"]),
        params=model.data.params_of(parts.get("params", {})),
        scores=Normal(**parts["scores"]),
        classifiers=classifiers,
        elbo=parts["elbo"],
        sd_w=parts["sd_w"],
        n_active=parts["n_active"],
        convergence=_convergence(header),
        draws=_drawn(model, parts["draws"], basis) if header["draws"] else None,
        prior=prior if basis is None else InBasis(prior, basis),
        training=str(header.get("training", "bayes")),
        codes_sha256=str(header.get("codes_sha256", "")),
        left_out=left_out,
        **{name: _summary_of(kind, parts.get(name)) for name, kind in _SUMMARIES.items()},
    )
    if "convergence" not in header and posterior.draws is not None:
        # Older files have the convergence of the variational start instead of that of the chains.
        per_chain = int(np.bincount(posterior.draws.chain).max())
        posterior = replace(posterior, convergence=judged(posterior, per_chain))
    return posterior


def _left_out(header: dict[str, Any], parts: dict[str, Any]) -> SampleSummary | None:
    said = header.get(NO_SAMPLES)
    if said is None:
        return None
    # Files of earlier versions have no mean, which is nearly zero.
    samples = {"mean": np.zeros(len(parts["samples"]["sd"])), **parts["samples"]}
    return SampleSummary(
        n_samples=int(said["n_samples"]),
        counts=tuple(samples[f"counts_{number}"] for number in range(len(header["tasks"]))),
        n_components=int(said["n_components"]),
        # A constant quantity has no R-hat, which JSON stores as null.
        mixing={name: np.nan if one is None else one for name, one in said["mixing"].items()},
        **{name: samples[name] for name in _SUMMARISED},
    )


def _summary_of(kind: Any, arrays: dict[str, Any] | None) -> Any:
    """Object with these arrays as fields, scalars as numbers; None without arrays."""
    if arrays is None:
        return None
    return kind(**{name: one.item() if one.ndim == 0 else one for name, one in arrays.items()})


def _convergence(header: dict[str, Any]) -> Convergence:
    said = header.get("convergence")
    if said is not None:
        return Convergence(**{one.name: str(said[one.name]) for one in fields(Convergence)})
    older = "the file does not say by which criterion: it was written by an older version"
    return Convergence(CONVERGED if header["converged"] else NOT_CONVERGED, "", older)


def _drawn(model: Model, parts: dict[str, Any], basis: Any) -> Draws:
    n_draws, n_chosen = len(parts["chain"]), len(parts["chosen"])

    def several(count: int, *names: str) -> list[dict[str, Any]]:
        """Stacked parts as one dictionary per draw; empty if the file has none."""
        found = {name: parts[name] for name in names if name in parts}
        return unstacked(found, count) if found else []

    return Draws(
        **{name: parts[name] for name in _DRAWN},
        params=tuple(map(model.data.params_of, unstacked(parts.get("params", {}), n_draws))),
        classifiers=tuple(Normal(**one["classifiers"]) for one in several(n_chosen, "classifiers")),
        # Older files have no scales.
        scales=ScaleDraws.of(model, parts.get("scales", {})),
        experts=tuple(_gated(one) for one in several(n_chosen, "gates", "experts")),
        priors=tuple(_mixture(model.latent, one["prior"]) for one in several(n_draws, "prior")),
        basis=basis,
        # Files without training samples also lack decisions at them.
        decisions=parts.get("decisions", np.zeros((n_draws, 0, 0), np.float32)),
    )


def _built_experts(parts: dict[str, Any]) -> Gated | Kernel:
    if KERNEL in parts:
        return Kernel(RadialFeatures(**parts[KERNEL]), Normal(**parts["experts"]))
    return _gated(parts)


def _gated(parts: dict[str, Any]) -> Gated:
    return Gated(Gates(**parts["gates"]), Normal(**parts["experts"]))


def _mixture(latent: Any, parts: dict[str, Any]) -> Mixture:
    """A mixture without samples, of distributions or, at a draw, of values, by their fields."""
    laws: dict[str, Any] = {}
    for name, arrays in parts.items():
        hint = get_type_hints(Mixture)[name]
        kinds = {frozenset(one.name for one in fields(kind)): kind for kind in get_args(hint)}
        laws[name] = kinds.get(frozenset(arrays), hint)(**arrays)
    return Mixture(latent, np.zeros((0, latent.n_components)), **laws)
