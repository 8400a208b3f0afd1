"""Checkpoints of variational Bayes and predictive training: content, and resuming.

The checkpoint contains the rows, the parameters of the likelihood, the shrinkage scales, the prior
of the scores and the history and, for the ascent, its momentum and random numbers. Scores, and the
responsibilities of a mixture, can be as large as the table and are not written. `find_scores`
computes them at the rows, starting from the prior, by the updates of the ascent itself; they lack
the extrapolation by momentum. So a resumed fit follows the path of an uninterrupted one closely,
but not exactly, and ends within the tolerance of its criterion. Only the ordinary rank likelihood,
which has a latent value per entry, has a file as large as the table.

See `rankfactor.storage.stages` for the files. A finished stage is not repeated. The ascent
continues if its limits now require more: a larger ``max_iter`` or a smaller ``tol``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankfactor.classifiers.labels import shared_out
from rankfactor.classifiers.per_component import assign_block
from rankfactor.engine.course import Course
from rankfactor.latent import Mixture, ScorePrior, StandardNormal
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import NoParameters, Observed
from rankfactor.model import Model, View, ViewState
from rankfactor.posterior.convergence import Convergence
from rankfactor.steps.score import BLOCK, update_scores
from rankfactor.steps.workers import Workers, slices
from rankfactor.storage.archive import Kinds, kinds_of
from rankfactor.storage.forms import check_form
from rankfactor.storage.stages import StageFile, StageFolder
from rankfactor.typing import Floats

if TYPE_CHECKING:
    from rankfactor.engine.vb import Fit, Settings

logger = logging.getLogger(__name__)

Tree = dict[str, Any]

# Updates of the scores at given rows: until they move by less (root mean square, relative to the
# prior's standard deviation of 1), and their maximum number.
SETTLED, MOST_STEPS = 2e-3, 20
# Errors raised when a file is not one of our checkpoints.
NOT_OURS = (LookupError, TypeError, ValueError, AttributeError)
_HISTORY = ("elbo", "sd_w", "n_active")


def find_scores(fit: Fit, pool: Workers, block: int = BLOCK) -> None:
    """Compute the scores at the rows of a fit, and the responsibilities of a mixture, in place."""
    n, order = fit.data.observed.shape[1], fit.z.order
    fit.prior = fit.prior.fresh(n)
    fit.z = Normal.isotropic(np.zeros((n, order)), 1.0)
    if fit.labels is not None:
        fit.labels.observed = shared_out(fit.labels.observed, fit.prior)
    rows = [item.rows() for item in fit.views]

    def move(samples: slice) -> tuple[ScorePrior, float]:
        prior, old = fit.prior.take(samples), fit.z.take(samples)
        z = update_scores(fit.views, prior, old, samples, rows=rows)
        moved = float(((z.mean - old.mean) ** 2).sum())
        fit.z.put(samples, z)
        return assign_block(prior, fit.labels, z, samples), moved

    for _ in range(MOST_STEPS):
        priors, moved = zip(*pool.map(move, slices(n, block)), strict=True)
        fit.assign(priors)
        if sum(moved) < SETTLED**2 * fit.z.mean.size:
            break


def view_kinds(model: Model, view: View, n_rows: int) -> Kinds:
    """Classes allowed in the state of a view."""
    parts = getattr(view.likelihood, "parts", (view.likelihood,))  # of blocks
    params = [getattr(part, "parameters", NoParameters) for part in (view.likelihood, *parts)]
    return kinds_of(ViewState, *params, view.shrinkage.start(n_rows, model.n_factors))


def point_kinds(model: Model, n_features: int) -> Kinds:
    """Classes allowed in the state of a fit."""
    kinds = view_kinds(model, model.data_view, n_features)
    if model.label is not None:
        kinds |= view_kinds(model, model.label_view, 1)
    return kinds | kinds_of(Normal, Convergence, StandardNormal(), Mixture, model.latent)


def point_of(fit: Fit) -> Tree:
    """The written state of a fit, in separate arrays."""
    return {
        # Latent values of the entries depend on all iterations so far and cannot be recomputed.
        "data": replace(fit.data.state.copy(), params=deepcopy(fit.data.state.params)),
        "labels": None if fit.labels is None else fit.labels.state.copy(),
        "prior": fit.prior.fresh(0),
        "history": {name: np.array(getattr(fit.history, name)) for name in _HISTORY},
        "convergence": fit.convergence,
    }


def restore(fit: Fit, point: Tree) -> None:
    """Take rows, parameters, scales, prior and history from what was written, in place."""
    found, (expected, n_samples) = len(point["data"].rows.mean), fit.data.observed.shape
    if found != expected:
        raise ValueError(f"{found} rows in place of {expected}")
    check_form(point["data"], fit.data.state, "data", n_samples)
    if type(point["prior"]) is type(fit.prior):
        check_form(point["prior"], fit.prior.fresh(0), "prior", n_samples)
    if fit.labels is not None:
        check_form(point["labels"], fit.labels.state, "labels", n_samples)
    columns = [point["history"][name].tolist() for name in _HISTORY]
    fit.history.iterations = list(zip(*columns, strict=True))
    fit.data.state = point["data"]
    if fit.labels is not None:
        fit.labels.state = point["labels"]
    fit.prior, fit.convergence = point["prior"], point["convergence"]


class AscentCheckpoint:
    """The file of the ascent: the current start, and the best of those before it.

    Parameters
    ----------
    folder : StageFolder
    model : Model
    observed : Observed
    rng : numpy.random.Generator
        Generator of the ascent; its state is restored.
    """

    def __init__(
        self, folder: StageFolder, model: Model, observed: Observed, rng: np.random.Generator
    ) -> None:
        self._file = folder.stage("ascent", point_kinds(model, observed.shape[0]))
        self._rng = rng
        self._found = self._file.load()
        self._about: Tree = {}
        self.small = False  # whether a fit to some of the samples is in progress

    def ended(self, settings: Settings, blank: Callable[[], Fit]) -> Fit | None:
        """The best fit of an ascent that has ended under these settings.

        ``blank`` makes a fit of the same form that has learned nothing.
        """
        found = self._found
        try:
            if found is None or not found["ended"] or not _enough(found, settings):
                return None
            fit = blank()
            restore(fit, found["best"])
            self._rng.bit_generator.state = found["rng"]
        except NOT_OURS as problem:
            raise self._file.damaged(repr(problem)) from problem
        logger.info("the ascent has ended before, after %d iterations", fit.n_iter)
        return fit

    def first_restart(self, blank: Callable[[], Fit]) -> tuple[int, Fit | None, Any]:
        """The start to go on with, the best fit of those before, and the rotation (K, K) so far."""
        found = self._found
        if found is None:
            return 0, None, None
        try:
            best = None
            if found["restart"]:
                best = blank()
                restore(best, found["earlier"])
            self._rng.bit_generator.state = found["rng_before"]
            return int(found["restart"]), best, found["basis"]
        except NOT_OURS as problem:
            raise self._file.damaged(repr(problem)) from problem

    def begin(self, restart: int, best: Fit | None, basis: Floats) -> None:
        """Record a new start: its number, the best so far, the rotation so far."""
        self._about = {
            "restart": restart,
            "basis": basis,
            "earlier": None if best is None else point_of(best),
            "rng_before": self._rng.bit_generator.state,
        }

    def resumes(self, small: bool) -> bool:
        """Whether there is a fit to all samples, or to a few of them, to resume."""
        return self._found is not None and bool(self._found["small"]) == small

    def resume(self, fit: Fit, pool: Workers, block: int) -> Course | None:
        """Restore a fit in place; None if it starts here."""
        if not self.resumes(self.small):
            return None
        found, self._found = self._found, None
        assert found is not None
        try:
            restore(fit, found["point"])
            self._rng.bit_generator.state = found["rng"]
            find_scores(fit, pool, block)
            course = _course(found["course"], fit)
        except NOT_OURS as problem:
            raise self._file.damaged(repr(problem)) from problem
        logger.info("the ascent resumes from iteration %d", course.iteration)
        return course

    def _content(self, fit: Fit, course: Course) -> Tree:
        memory = course.momentum.memory()
        return {
            **self._about,
            "rng": self._rng.bit_generator.state,
            "small": self.small,
            "ended": False,
            "best": None,
            "point": point_of(fit),
            "course": {**_plain(course), "momentum": memory},
        }

    def keep(self, fit: Fit, course: Course) -> None:
        """Record a complete iteration, and write it if due."""
        self._file.keep(self._content(fit, course))

    def write(self) -> None:
        """Write the last complete iteration: the fit was interrupted."""
        self._file.write()

    def finish(self, best: Fit, last: Fit, course: Course) -> None:
        """Write the end of all starts: the best of them, and the last one to continue from."""
        content = self._content(last, course)
        self._file.keep({**content, "ended": True, "best": point_of(best)})
        self._file.write()


def _plain(course: Course) -> Tree:
    names = ("iteration", "previous", "change", "next_turn", "wait")
    return {name: getattr(course, name) for name in names}


def _course(found: Tree, fit: Fit) -> Course:
    momentum, plain = found["momentum"], {k: v for k, v in found.items() if k != "momentum"}
    course = Course(**plain)
    course.first = course.iteration
    # Recomputed scores have no momentum yet; the rows keep theirs.
    course.momentum.recall(momentum, fit.z.mean)
    return course


def _enough(found: Tree, settings: Settings) -> bool:
    """Whether a finished ascent would also end there under these settings."""
    course = found["course"]
    return bool(abs(course["change"]) < settings.tol or course["iteration"] > settings.max_iter)


class TrainingCheckpoint:
    """The file of predictive training."""

    def __init__(self, folder: StageFolder, model: Model, fit: Fit, classifier: Any) -> None:
        kinds = point_kinds(model, len(fit.data.state.rows.mean)) | kinds_of(classifier)
        self._file: StageFile = folder.stage("predictive", kinds)
        # It belongs to the ascent from which it started.
        self._start = {"n_iter": fit.n_iter, "elbo": fit.history.elbo[-1]}

    def resume(self, fit: Fit, classifier: Any, pool: Workers) -> Tree | None:
        """Restore the state of training in place, and return the rest of the file.

        None if training starts here.
        """
        found = self._file.load()
        try:
            if found is None or found["start"] != self._start:
                return None
            restore(fit, found)
            if found["ended"]:
                return found
            here = fit.data.state
            check_form(found["top"], here, "top", fit.data.observed.shape[1])
            fit.data.state = found["top"]
            find_scores(fit, pool)
            found["top"] = fit.data.state, fit.z
            fit.data.state = here
            find_scores(fit, pool)
            if isinstance(classifier, tuple):  # a named tuple, which files do not record
                found["classifier"] = type(classifier)(*found["classifier"])
        except NOT_OURS as problem:
            raise self._file.damaged(repr(problem)) from problem
        logger.info("predictive training resumes from step %d", found["number"])
        return found

    def keep(self, fit: Fit, **course: Any) -> None:
        """Record a complete step, and write it if due."""
        self._file.keep({**point_of(fit), **course, "start": self._start, "ended": False})

    def write(self) -> None:
        """Write the last complete step: training was interrupted."""
        self._file.write()

    def finish(self, fit: Fit, **course: Any) -> None:
        """Write the end of training."""
        self._file.keep({**point_of(fit), **course, "start": self._start, "ended": True})
        self._file.write()
