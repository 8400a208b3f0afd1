r"""A move of the Gibbs sampler that scales a factor's loadings and leaves its scores.

The loadings of a factor that explains nothing are as small as their global scale phi_k says, and
phi_k is as small as they are: drawn in turn, both go through the orders of magnitude by small
steps. So column k of the table's rows is multiplied by ``alpha = sqrt(u)`` with all its scales
(Yu and Meng 2011, "To center or not to center", interweave the two forms of such a model). Scores
stay, so the predictors change. Given the table's sites their log likelihood is quadratic,

    alpha (h_k - sum_{l != k} Q_kl) - alpha^2 Q_kk / 2,
    Q_kl = sum_n z_nk z_nl S_n[k, l],    h_k = sum_n z_nk s_n[k],

where S_n and s_n, precision and shift that the table gives sample n, are at hand once the scores
are drawn. With the shrinkage prior's part (`rankfactor.shrinkage.base`), log u is drawn by slices
(`rankfactor.kernels.slices`).
"""

from __future__ import annotations

import numpy as np

from rankfactor.kernels.packed import unpack
from rankfactor.kernels.rng import Stream
from rankfactor.kernels.slices import slice_columns
from rankfactor.laws.normal import Normal
from rankfactor.laws.products import BareColumns
from rankfactor.steps.score import ObservedView
from rankfactor.typing import Floats


def draw_column_scales(
    item: ObservedView, z: Normal, precision: Floats, shift: Floats, stream: Stream
) -> None:
    """Draw the scale of every column of the table's rows, in place.

    ``precision`` (N, P) and ``shift`` (N, K) are what the table says of the scores.
    """
    state, prior, order = item.state, item.view.shrinkage, z.order
    second = BareColumns(z.mean, z.cov).second  # (N, P): z z^T
    Q = unpack((second * precision).sum(axis=0)[None])[0]
    h = np.einsum("nk,nk->k", z.mean, shift)
    # No column's part in the prior depends on another column.
    power, rate, inverse = prior.stretch(state.scales, state.rows.mean[:, :order] ** 2)
    u = np.exp(slice_columns(stream.word, Q, h, power, rate, inverse))
    state.rows.mean[:, :order] *= np.sqrt(u)
    state.scales = prior.stretched(state.scales, u)
