"""Checkpoints: chains of the Gibbs sampler on disk, to go on from as if they had not been stopped.

A folder holds ``problem.zip`` (what is sampled, and the loadings that draws are matched to) and for
every chain its state, ``chain-0.zip``, and its draws in the pieces in which they were written,
``chain-0-draws-0.zip`` and so on (`rankfactor.storage.archive`). Draws are written before the
state that counts them, so a run that dies between the two leaves a piece that nobody counts and
that the next one overwrites.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from rankfactor.__about__ import __version__
from rankfactor.engine.chain import Chain, Gibbs
from rankfactor.engine.scale_draws import stacked, unstacked
from rankfactor.engine.vb import Fit
from rankfactor.errors import InputError
from rankfactor.kernels.rng import Stream
from rankfactor.likelihoods import Observed, RowArrays
from rankfactor.model import Model
from rankfactor.steps.score import TILE, ObservedView
from rankfactor.steps.workers import slices
from rankfactor.storage.archive import damaged, read, write
from rankfactor.storage.files import folder
from rankfactor.typing import Floats

logger = logging.getLogger(__name__)

_SETTINGS = ("n_chains", "burn_in", "thin", "block")
# What a user knows the entries of a problem by.
_WORDS = {
    "library": "the version of rankfactor",
    "seed": "random_state",
    "table": "the table",
    "labels": "the labels or their weights",
}
_SECRET = ("seed", "table", "labels")  # hashes: their values tell nobody anything


def describe(
    model: Model, observed: Observed, labels: Observed | None, settings: Gibbs, stream: Stream
) -> dict[str, Any]:
    """What makes two runs the same chains: model, data, seed and the course of the sampler."""
    return {
        "library": __version__,
        "model": _plain(model.to_dict()),
        "table": _digest(observed),
        "labels": None if labels is None else _digest(labels),
        "seed": f"{stream.key:016x}",
        **{name: int(getattr(settings, name)) for name in _SETTINGS},
        "align": "rotate" if settings.rotates(model) else "permute",
    }


def _plain(values: Any) -> Any:
    """Values as they come back from JSON: no tuples and no numbers of NumPy."""
    return json.loads(json.dumps(values, default=lambda one: one.item()))


def _digest(observed: Observed) -> str:
    """Hash of all observations, read tile by tile."""
    n_rows, n_samples = observed.shape
    content = hashlib.blake2b(f"{n_rows} {n_samples}".encode(), digest_size=16)
    for rows in slices(n_rows, TILE):
        content.update(observed.content(rows))
    return content.hexdigest()


def difference(old: Any, new: Any, name: str = "") -> str | None:
    """The first entry in which two problems differ, in words; None if they are the same."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in (*new, *(key for key in old if key not in new)):
            inner = key if name in ("", "model") else f"{key} of {name}"
            found = difference(old.get(key), new.get(key), inner)
            if found is not None:
                return found
        return None
    if old == new:
        return None
    word = _WORDS.get(name, name)
    if name in _SECRET or isinstance(old, dict) or isinstance(new, dict):
        return f"{word} differs" if name != "labels" else f"{word} differ"
    return f"{word} is {old!r} there and {new!r} here"


@dataclass
class _Written:
    """How much of a chain is on disk."""

    sweep: int = 0
    kept: int = 0  # of the draws that the chain has in memory, those that need not be written
    stored: int = 0  # draws on disk: more, if memory has no room for all of them any more
    pieces: int = 0


class Checkpoint:
    """A folder with the chains of one problem.

    Parameters
    ----------
    path : path
        Made if it does not exist.
    problem : dict
        That of `describe`.

    Raises
    ------
    InputError
        If the folder cannot be written to, or holds another problem or a damaged file.
    """

    def __init__(self, path: str | os.PathLike[str], problem: dict[str, Any]) -> None:
        self.path, self.problem = Path(path), problem
        self._written: dict[int, _Written] = {}
        with folder(self.path):
            pass
        self._head = self.path / "problem.zip"
        if not self._head.exists():
            if any(self.path.glob("chain-*.zip")):
                raise damaged(self._head, "it is missing")
            return
        found = difference(_entries(self._head, "problem", "reference")["problem"], problem)
        if found is not None:
            raise InputError(
                f"the folder {self.path} holds a checkpoint of another problem ({found}): choose "
                "another folder, or remove it."
            )

    def reference(self, loadings: Floats) -> Floats:
        """The loadings that draws are matched to: those of the first run."""
        if not self._head.exists():
            write(self._head, {"problem": self.problem, "reference": loadings})
        return np.asarray(_entries(self._head, "problem", "reference")["reference"])

    def load(self, number: int, fit: Fit, settings: Gibbs, spacing: int) -> Chain | None:
        """A chain as it was left, None if it has not been begun.

        Parameters
        ----------
        number : int
        fit : Fit
            Where the chain began; gives its views and observations.
        settings : Gibbs
        spacing : int
            Every how many draws one is kept now.
        """
        path = self._state_file(number)
        if not path.exists():
            return None
        try:
            state = _entries(
                path, "data", "labels", "z", "prior", "rows", "scores", "sweep", "pieces"
            )
            chain = self._assemble(number, state, fit)
        except InputError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError) as problem:
            raise damaged(path, repr(problem)) from problem
        if chain.sweep > settings.last:
            raise InputError(
                f"the folder {self.path} holds {chain.rows.count} draws a chain already: set "
                "n_draws to at least as many, or choose another folder."
            )
        self._select(chain, settings, spacing)
        self._written[number] = _Written(
            chain.sweep, len(chain.kept), state["kept"], state["pieces"]
        )
        logger.info("chain %d goes on from sweep %d", number, chain.sweep)
        return chain

    def _assemble(self, number: int, state: dict[str, Any], fit: Fit) -> Chain:
        """The chain of a state and of the pieces that it counts."""
        labels = None
        if fit.labels is not None:
            labels = ObservedView(fit.labels.view, fit.labels.observed, state["labels"])
        data = ObservedView(fit.data.view, fit.data.observed, state["data"])
        now = Fit(data, labels, state["z"], fit.history, state["prior"])
        chain = Chain([], [], [], state["rows"], state["scores"], now, state["sweep"])
        chain.log_likelihood = state["log_likelihood"].tolist()
        chain.sd_w = state["sd_w"].tolist()
        for piece in range(state["pieces"]):
            path = self._draws_file(number, piece)
            draws = _entries(path, "kept", "loadings", "params", "coefficients", "scales", "priors")
            chain.kept += draws["kept"].tolist()
            chain.loadings += list(draws["loadings"])
            chain.params += [draws["params"].take(i) for i in range(len(draws["kept"]))]
            chain.coefficients += list(draws["coefficients"])
            chain.scales += unstacked(draws["scales"], len(draws["kept"]))
            chain.priors += draws["priors"]
        if len(chain.kept) != state["kept"] or chain.sweep != len(chain.log_likelihood):
            raise ValueError("its draws are not those that it counts")
        return chain

    def _select(self, chain: Chain, settings: Gibbs, spacing: int) -> None:
        """Leave the draws that a chain of this spacing keeps, in place."""
        first = settings.burn_in + spacing * settings.thin
        wanted = range(first, chain.sweep + 1, spacing * settings.thin)
        chosen = [i for i, sweep in enumerate(chain.kept) if sweep in wanted]
        if len(chosen) < len(wanted):
            raise InputError(
                f"the folder {self.path} holds fewer draws than memory={settings.memory:g} has "
                "room for: set memory to what it was, or choose another folder."
            )
        for name in ("kept", "loadings", "params", "coefficients", "scales", "priors"):
            values = getattr(chain, name)
            if values:  # there are no coefficients without labels
                setattr(chain, name, [values[i] for i in chosen])

    def save(self, number: int, chain: Chain) -> None:
        """Write the draws that are new, then the state; nothing if there was no sweep since."""
        written = self._written.setdefault(number, _Written())
        if chain.sweep == written.sweep:
            return
        new = slice(written.kept, len(chain.kept))
        pieces, stored = written.pieces, written.stored + new.stop - new.start
        if new.stop > new.start:
            draws = {
                "kept": np.array(chain.kept[new]),
                "loadings": np.array(chain.loadings[new]),
                "params": _stacked(chain.params[new]),
                "coefficients": np.array(chain.coefficients[new], np.float32),
                "scales": stacked(chain.scales[new]),
                "priors": tuple(chain.priors[new]),
            }
            write(self._draws_file(number, pieces), draws)
            pieces += 1
        fit = chain.state
        state = {
            "data": fit.data.state,
            "labels": None if fit.labels is None else fit.labels.state,
            "z": fit.z,
            "prior": fit.prior,
            "rows": chain.rows,
            "scores": chain.scores,
            "sweep": chain.sweep,
            "log_likelihood": np.array(chain.log_likelihood),
            "sd_w": np.array(chain.sd_w),
            "kept": stored,
            "pieces": pieces,
        }
        write(self._state_file(number), state)
        self._written[number] = _Written(chain.sweep, new.stop, stored, pieces)

    def _state_file(self, number: int) -> Path:
        return self.path / f"chain-{number}.zip"

    def _draws_file(self, number: int, piece: int) -> Path:
        return self.path / f"chain-{number}-draws-{piece}.zip"


def _entries(path: Path, *names: str) -> dict[str, Any]:
    """The dictionary in a file, which must have some entries."""
    content = read(path)
    if not isinstance(content, dict) or not set(names) <= set(content):
        raise damaged(path, "it holds something else")
    return content


def _stacked(params: Sequence[RowArrays]) -> RowArrays:
    """Parameters of several draws in one, each array with a first dimension for the draws."""
    names = [field.name for field in fields(params[0])]
    arrays = (np.stack([getattr(one, name) for one in params]) for name in names)
    return type(params[0])(*arrays)


def open_checkpoint(
    settings: Gibbs, model: Model, observed: Observed, labels: Observed | None, stream: Stream
) -> Checkpoint | None:
    """The checkpoint that the settings ask for, None if they ask for none."""
    if settings.checkpoint is None:
        return None
    return Checkpoint(settings.checkpoint, describe(model, observed, labels, settings, stream))
