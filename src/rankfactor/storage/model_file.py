"""The model file: what a fit leaves, in a container of arrays with a JSON header.

The header holds the format's name and version, the library's version, the parts with their
hyper-parameters, a summary of the training, and what the writer says of where the model comes from
(its provenance). Feature names, cuts, classes, loadings and so on are arrays, exact to the last
bit. docs/model-file.md describes the members; `rankfactor.storage.container` is how they are kept.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from rankfactor.__about__ import __version__
from rankfactor.classifiers.gated import Experts
from rankfactor.engine.convergence import CONVERGED, NOT_CONVERGED, Convergence
from rankfactor.engine.draws import Draws
from rankfactor.engine.scale_draws import ScaleDraws
from rankfactor.errors import InputError
from rankfactor.features.covariates import Adjustment, Design, RankRegression
from rankfactor.features.words import Indicators
from rankfactor.latent import Gates, Mixture, ScorePrior
from rankfactor.laws.beta import Beta, Share
from rankfactor.laws.gamma import Gamma
from rankfactor.laws.normal import Normal
from rankfactor.laws.point import Point
from rankfactor.model import Model
from rankfactor.posterior import Classifiers, Posterior
from rankfactor.posterior.diagnostics import judged
from rankfactor.posterior.samples import SampleSummary
from rankfactor.storage.container import (
    Arrays,
    is_container,
    read_container,
    read_header,
    write_container,
)
from rankfactor.tasks import Task

FORMAT = "rankfactor model"
VERSION = 1
# What a file may need of its reader: one that does not know it would predict something else.
COVARIATES, INDICATORS = "covariates", "indicators"
NO_SAMPLES = "sample_summary"  # in place of the training samples
KNOWN = (COVARIATES, INDICATORS, NO_SAMPLES)
_SCALES = "draws.scales."
_GATES, _EXPERTS = "gates", "experts"
_SCALE = "probability_scale"
_SAMPLES, _COUNTS = "samples.", "samples.counts_"
_SUMMARISED = ("moment", "spread", "sd", "higher")
_DRAWN = ("chain", "loadings", "coefficients", "chosen", "log_likelihood", "sweep")
# Laws of a mixture's parameters after a fit, and what stands for them at a draw.
_LAWS = {"centres": Normal, "psi": Gamma, "sticks": Beta, "alpha": Gamma}
_VALUES = {"centres": Normal, "psi": Point, "sticks": Share, "alpha": Point}


def save_model(
    posterior: Posterior,
    path: str | os.PathLike[str],
    *,
    provenance: Mapping[str, Any] | None = None,
    training_samples: bool = True,
) -> Path:
    """Write a posterior to a model file.

    Parameters
    ----------
    posterior : Posterior
    path : path
        Replaced if it exists; its folder must exist.
    provenance : mapping, optional
        Plain values that say where the model comes from, such as the table's name and the settings
        of the fit; `model_header` gives them back.
    training_samples : bool, default True
        Keep the names, label-free scores and labels of the training samples, which the report
        shows. Without them the model predicts the same, and `load_model` gives a posterior that has
        their number, their class counts and the moments of their scores only. Single observed
        values of features (cuts, knots of covariates) are kept either way: docs/model-file.md.
    """
    path = Path(path)
    if not training_samples:
        posterior = posterior.without_training_samples()
    header, arrays = _disassemble(posterior)
    header["provenance"] = dict(provenance or {})
    header["arrays"] = {
        name: {"dtype": str(one.dtype), "shape": list(one.shape)} for name, one in arrays.items()
    }
    write_container(path, header, arrays)
    return path


def load_model(path: str | os.PathLike[str]) -> Posterior:
    """Read a posterior from a model file.

    Raises
    ------
    InputError
        If there is no such file, or it is truncated, damaged, edited, foreign, or of a newer
        format.
    """
    path = Path(path)
    header, arrays = read_container(path, FORMAT, VERSION, KNOWN)
    try:
        return _assemble(header, arrays)
    except (KeyError, TypeError, ValueError) as problem:
        raise InputError(f"{path} is damaged ({problem!r}): write it again.") from problem


def model_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what a model file says of itself: versions, parts, summary and provenance.

    Raises
    ------
    InputError
        As `load_model`.
    """
    return read_header(Path(path), FORMAT, VERSION, KNOWN)


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file looks like a model: a zip with a header, or something called .rankfactor."""
    return Path(path).suffix == ".rankfactor" or is_container(Path(path))


def _summary(posterior: Posterior) -> dict[str, Any]:
    """What a reader may want to know of a fit before the arrays are read."""
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
        "n_samples": posterior.samples.n_samples,
        "n_features": len(posterior.feature_names),
        "n_features_that_vary": len(posterior.coding.columns),
        "n_factors": posterior.n_factors,
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
    arrays: Arrays = {
        "feature_names": posterior.feature_names,
        "elbo": posterior.elbo,
        "sd_w": posterior.sd_w,
        "n_active": posterior.n_active,
    }
    arrays |= _parts_of("rows", posterior.rows)
    if posterior.left_out is None:
        arrays |= {"sample_names": posterior.sample_names} | _parts_of("scores", posterior.scores)
    arrays |= _parts_of("coding", posterior.coding) | _parts_of("params", posterior.params)
    if isinstance(posterior.prior, Mixture):
        for name in _LAWS:
            arrays |= _parts_of(f"prior.{name}", getattr(posterior.prior, name))
    classifiers = posterior.classifiers
    tasks = []
    if classifiers is not None:
        arrays |= _parts_of("coefficients", classifiers.rows)
        arrays |= _parts_of("joint_coefficients", classifiers.joint_rows)
        if classifiers.experts is not None:
            arrays |= _parts_of(_GATES, classifiers.experts.gates)
            arrays |= _parts_of(_EXPERTS, classifiers.experts.rows)
        if posterior.left_out is None:
            arrays["label_codes"] = classifiers.codes
        arrays[_SCALE] = classifiers.scale
        for number, task in enumerate(classifiers.tasks):
            tasks.append(task.name)
            arrays[f"classes_{number}"] = task.classes
    draws = posterior.draws
    if draws is not None:
        arrays |= {f"draws.{name}": getattr(draws, name) for name in _DRAWN}
        arrays |= _stacked("draws.params", draws.params)
        arrays |= _stacked("draws.classifiers", draws.classifiers)
        arrays |= _stacked(f"draws.{_GATES}", [one.gates for one in draws.experts])
        arrays |= _stacked(f"draws.{_EXPERTS}", [one.rows for one in draws.experts])
        for name in _VALUES:
            arrays |= _stacked(f"draws.prior.{name}", [getattr(one, name) for one in draws.priors])
        arrays |= {f"{_SCALES}{name}": values for name, values in draws.scales.values.items()}
    needs: list[str] = []
    header = {
        "format": FORMAT,
        "version": VERSION,
        "needs": needs,
        "library": __version__,
        "model": posterior.model.to_dict(),
        "tasks": tasks,
        "converged": posterior.converged,
        "convergence": asdict(posterior.convergence),
        "training": posterior.training,
        "named_features": posterior.named_features,
        "draws": draws is not None,
        "summary": _summary(posterior),
        "codes_sha256": posterior.codes_sha256,
    }
    left_out = posterior.left_out
    if left_out is not None:
        needs.append(NO_SAMPLES)
        arrays |= {f"{_SAMPLES}{name}": getattr(left_out, name) for name in _SUMMARISED}
        arrays |= {f"{_COUNTS}{n}": counts for n, counts in enumerate(left_out.counts)}
        header[NO_SAMPLES] = {
            "n_samples": left_out.n_samples,
            "n_components": left_out.n_components,
            "mixing": left_out.mixing,
        }
    if posterior.views is not None:
        arrays["views"] = posterior.views
    adjustment = posterior.adjustment
    if adjustment is not None:
        needs.append(COVARIATES)
        header[COVARIATES] = {"use": adjustment.use, "columns": adjustment.design.to_list()}
        if adjustment.regression is not None:
            arrays |= _parts_of(COVARIATES, adjustment.regression)
    if posterior.indicators is not None:
        needs.append(INDICATORS)
        header[INDICATORS] = posterior.indicators.design.to_list()
    return header, arrays


def _assemble(header: dict[str, Any], arrays: Arrays) -> Posterior:
    model = Model.from_dict(header["model"])
    left_out = _left_out(header, arrays)
    classifiers = None
    if header["tasks"]:
        tasks = tuple(
            Task(name, arrays[f"classes_{number}"]) for number, name in enumerate(header["tasks"])
        )
        classifiers = Classifiers(
            tasks,
            _whole("coefficients", Normal, arrays),
            _whole("joint_coefficients", Normal, arrays),
            arrays["label_codes"] if left_out is None else np.zeros((0, len(tasks)), np.int64),
            None
            if model.n_components is None
            else Experts(_whole(_GATES, Gates, arrays), _whole(_EXPERTS, Normal, arrays)),
            # Files written before probabilities were calibrated have none.
            arrays.get(_SCALE, np.ones(len(tasks))),
        )
    posterior = Posterior(
        model=model,
        feature_names=arrays["feature_names"],
        named_features=bool(header["named_features"]),
        sample_names=arrays["sample_names"] if left_out is None else np.zeros(0, "<U1"),
        coding=_whole("coding", model.data.coding, arrays),
        rows=_whole("rows", Normal, arrays),
        params=_whole("params", model.data.parameters, arrays),
        scores=(
            _whole("scores", Normal, arrays)
            if left_out is None
            else Normal.isotropic(np.zeros((0, model.n_factors)), 1.0)
        ),
        classifiers=classifiers,
        elbo=arrays["elbo"],
        sd_w=arrays["sd_w"],
        n_active=arrays["n_active"],
        convergence=_convergence(header),
        draws=_drawn(model, model.data.parameters, arrays) if header["draws"] else None,
        prior=_prior(model, arrays),
        training=str(header.get("training", "bayes")),
        views=arrays.get("views"),
        adjustment=_adjustment(header, arrays),
        indicators=_indicators(header),
        codes_sha256=str(header.get("codes_sha256", "")),
        left_out=left_out,
    )
    if "convergence" not in header and posterior.draws is not None:
        # Older files have the convergence of the variational start in place of that of the chains.
        per_chain = int(np.bincount(posterior.draws.chain).max())
        posterior = replace(posterior, convergence=judged(posterior, per_chain))
    return posterior


def _left_out(header: dict[str, Any], arrays: Arrays) -> SampleSummary | None:
    said = header.get(NO_SAMPLES)
    if said is None:
        return None
    parts: dict[str, Any] = {name: arrays[f"{_SAMPLES}{name}"] for name in _SUMMARISED}
    return SampleSummary(
        **parts,
        n_samples=int(said["n_samples"]),
        counts=tuple(arrays[f"{_COUNTS}{number}"] for number in range(len(header["tasks"]))),
        n_components=int(said["n_components"]),
        # A quantity that never changes has no R-hat, which JSON has no number for.
        mixing={name: np.nan if one is None else one for name, one in said["mixing"].items()},
    )


def _convergence(header: dict[str, Any]) -> Convergence:
    said = header.get("convergence")
    if said is not None:
        return Convergence(**{one.name: str(said[one.name]) for one in fields(Convergence)})
    older = "the file does not say by which criterion: it was written by an older version"
    return Convergence(CONVERGED if header["converged"] else NOT_CONVERGED, "", older)


def _adjustment(header: dict[str, Any], arrays: Arrays) -> Adjustment | None:
    # Files written before there were covariates do not name them.
    said = header.get(COVARIATES)
    if said is None:
        return None
    regression = _whole(COVARIATES, RankRegression, arrays) if said["use"] == "regress" else None
    return Adjustment(said["use"], Design.from_list(said["columns"]), regression)


def _indicators(header: dict[str, Any]) -> Indicators | None:
    said = header.get(INDICATORS)
    return None if said is None else Indicators(Design.from_list(said))


def _prior(model: Model, arrays: Arrays) -> ScorePrior:
    if isinstance(model.latent, ScorePrior):
        return model.latent
    parts = {name: _whole(f"prior.{name}", kind, arrays) for name, kind in _LAWS.items()}
    return _mixture(model.latent, **parts)


def _mixture(latent: Any, **parts: Any) -> Mixture:
    """A mixture without samples."""
    return Mixture(latent, np.zeros((0, latent.n_components)), **parts)


def _drawn(model: Model, kind: Any, arrays: Arrays) -> Draws:
    # Files written before scales were kept have none of them.
    scales = {
        name.removeprefix(_SCALES): values
        for name, values in arrays.items()
        if name.startswith(_SCALES)
    }
    priors = zip(
        *(_unstacked(f"draws.prior.{name}", kind, arrays) for name, kind in _VALUES.items()),
        strict=True,
    )
    return Draws(
        **{name: arrays[f"draws.{name}"] for name in _DRAWN},
        params=_unstacked("draws.params", kind, arrays),
        classifiers=_unstacked("draws.classifiers", Normal, arrays),
        scales=ScaleDraws.of(model, scales),
        experts=tuple(
            Experts(gates, rows)
            for gates, rows in zip(
                _unstacked(f"draws.{_GATES}", Gates, arrays),
                _unstacked(f"draws.{_EXPERTS}", Normal, arrays),
                strict=True,
            )
        ),
        priors=tuple(
            _mixture(model.latent, **dict(zip(_VALUES, one, strict=True))) for one in priors
        ),
    )


def _stacked(prefix: str, values: Sequence[Any]) -> Arrays:
    """Arrays of dataclasses of one kind, each field's one upon another."""
    if not values:
        return {}
    parts = [_parts_of(prefix, value) for value in values]
    return {name: np.stack([part[name] for part in parts]) for name in parts[0]}


def _unstacked(prefix: str, kind: Any, arrays: Arrays) -> tuple[Any, ...]:
    """Dataclasses of the arrays that `_stacked` made."""
    names = _stored(prefix, kind, arrays)
    if f"{prefix}.{names[0]}" not in arrays:
        return ()
    columns = [arrays[f"{prefix}.{name}"] for name in names]
    return tuple(
        kind(**dict(zip(names, values, strict=True))) for values in zip(*columns, strict=True)
    )


def _parts_of(prefix: str, value: Any) -> Arrays:
    """Arrays of a dataclass whose fields are all arrays."""
    return {
        f"{prefix}.{field.name}": np.asarray(getattr(value, field.name)) for field in fields(value)
    }


def _stored(prefix: str, kind: Any, arrays: Arrays) -> list[str]:
    """Fields of a dataclass in a file: all but those with a default that came after the file."""
    return [
        field.name
        for field in fields(kind)
        if f"{prefix}.{field.name}" in arrays
        or (field.default is MISSING and field.default_factory is MISSING)
    ]


def _whole(prefix: str, kind: Any, arrays: Arrays) -> Any:
    """Dataclass of the arrays that `_parts_of` named."""
    return kind(**{name: arrays[f"{prefix}.{name}"] for name in _stored(prefix, kind, arrays)})
