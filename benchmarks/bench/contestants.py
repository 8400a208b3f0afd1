"""The programs that are timed, each behind the same three calls.

    stretch(n)      seconds of n iterations, without start-up
    fit(limit)      a whole fit with default settings: seconds, iterations, whether it converged
    short()         the start and a few iterations, for the peak of memory

`child.py` runs this file in a process of its own, for the peers under another Python; each class
imports what it needs when it is made, and nothing here may import rankfactor at the top.

Iterations are timed between two calls of a hook in the program itself (a callback of ours, a node's
update of mofapy2); the fit is then left by an exception. That is the difference of two fits of
different lengths, without the noise of two starts.
"""

import time
from contextlib import suppress
from threading import Lock

import numpy as np

WARM = 2  # iterations before the clock starts: caches and buffers


class Enough(Exception):  # noqa: N818
    """Raised in a hook when all is measured."""


class Clock:
    """Counts iterations; keeps the time of number ``first`` and stops at number ``last``."""

    def __init__(self, first, last, limit=np.inf):
        self.first, self.last = first, last
        self.count, self.begin, self.started, self.end = 0, 0, None, None
        self.deadline = time.perf_counter() + limit
        self.lock = Lock()  # chains of the sampler tick from threads of their own

    def tick(self, *_):
        with self.lock:
            now = time.perf_counter()
            self.count += 1
            if self.started is None and self.count >= self.first:
                self.started, self.begin = now, self.count
            self.end = now
            if self.count >= self.last or now > self.deadline:
                raise Enough

    @property
    def seconds(self):
        """Seconds an iteration."""
        return (self.end - self.started) / (self.count - self.begin)


class Ours:
    """R-L-BSVM by variational Bayes or Gibbs sampling."""

    least = 3

    def __init__(self, X, y, threads, n_factors=20, max_cuts=8, engine="vb"):
        import rankfactor.engine.chain  # noqa: F401 - before memory is measured

        self.X, self.y = X, y
        self.engine, self.threads = engine, threads
        self.arguments = {
            "n_factors": n_factors,
            "max_cuts": max_cuts,
            "training": "bayes",
            "random_state": 0,
            "n_threads": threads,
        }

    def _model(self, **arguments):
        from rankfactor import RankFactorClassifier

        return RankFactorClassifier(**self.arguments, **arguments)

    def _sampler(self, sweeps):
        from rankfactor.engine.chain import Gibbs

        # A chain runs on one thread; with two threads there are two, and a sweep of either counts.
        return Gibbs(n_draws=2, burn_in=sweeps, n_chains=self.threads, n_predict=2)

    def stretch(self, n):
        begin, chains = WARM, 1
        settings = {"max_iter": WARM + n + 1, "tol": 0.0}
        if self.engine == "gibbs":
            begin, chains = WARM + 1, self.threads  # one tick is the variational start
            settings = {"max_iter": 1, "engine": self._sampler(WARM + n)}
        clock = Clock(begin, begin + n * chains)
        with suppress(Enough):
            self._model(progress=clock.tick, **settings).fit(self.X, self.y)
        return clock.seconds

    def fit(self, limit):
        clock = Clock(1, np.inf, limit)
        begin = time.perf_counter()
        try:
            model = self._model(progress=clock.tick).fit(self.X, self.y)
        except Enough:
            return {
                "seconds": time.perf_counter() - begin,
                "iterations": clock.count,
                "converged": False,
            }
        seconds = time.perf_counter() - begin
        return {
            "seconds": seconds,
            "iterations": model.n_iter_,
            "converged": bool(model.posterior_.converged),
        }

    def short(self):
        settings = {"engine": self._sampler(2)} if self.engine == "gibbs" else {}
        self._model(max_iter=3, **settings).fit(self.X, self.y)

    def elbo_share(self, n):
        """Time of what only the ELBO needs, as a share of the rest; one thread.

        The sum over entries comes out of the sites' kernel, where it is one addition more a cut;
        that addition is not in this figure.
        """
        from rankfactor.engine import vb
        from rankfactor.latent.standard_normal import StandardNormal

        spent = 0.0

        def timed(function):
            def call(*args, **kwargs):
                nonlocal spent
                begin = time.perf_counter()
                result = function(*args, **kwargs)
                spent += time.perf_counter() - begin
                return result

            return call

        places = [(vb, "view_bound"), (StandardNormal, "bound")]
        kept = [getattr(owner, name, None) for owner, name in places]
        if None in kept:  # the code has moved on: better no figure than a wrong one
            return None
        for (owner, name), function in zip(places, kept, strict=True):
            setattr(owner, name, timed(function))
        try:
            seconds = self.stretch(n)
        finally:
            for (owner, name), function in zip(places, kept, strict=True):
                setattr(owner, name, function)
        share = spent / (n + WARM + 1) / seconds
        return share / (1 - share)


class Mofa:
    """mofapy2 with a Gaussian likelihood and its default priors."""

    least = 5  # its default evaluates the ELBO every fifth iteration

    def __init__(self, X, y, threads, n_factors=20, elbo=False):
        self.X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
        import mofapy2.run.entry_point  # noqa: F401

        self.n_factors, self.elbo = n_factors, elbo

    def _run(self, clock, most, stop):
        from mofapy2.run.entry_point import entry_point

        entry = entry_point()
        entry.set_data_options()
        entry.set_data_matrix([[self.X]], likelihoods=["gaussian"])
        entry.set_model_options(factors=self.n_factors)
        frequency = {"freqELBO": 5} if self.elbo else {"freqELBO": None, "startELBO": None}
        entry.set_train_options(iter=most, nostop=not stop, quiet=True, seed=1, **frequency)
        entry.build()
        node = entry.model.nodes["Tau"]  # the last of an iteration
        update = node.update

        def ticking(*args, **kwargs):
            update(*args, **kwargs)
            clock.tick()

        node.update = ticking
        entry.run()

    def stretch(self, n):
        n = -(-n // 5) * 5 if self.elbo else n
        clock = Clock(WARM, WARM + n)
        with suppress(Enough):
            self._run(clock, WARM + n + 2, stop=False)
        return clock.seconds

    def fit(self, limit):
        clock, converged = Clock(1, np.inf, limit), True
        begin = time.perf_counter()
        try:
            self._run(clock, 1000, stop=True)
        except Enough:
            converged = False
        return {
            "seconds": time.perf_counter() - begin,
            "iterations": clock.count,
            "converged": converged and clock.count < 999,
        }

    def short(self):
        with suppress(Enough):
            self._run(Clock(1, 3), 5, stop=False)


class Smurff:
    """SMURFF: Gibbs sampling of a Gaussian factor model of the dense table."""

    least = 2

    def __init__(self, X, y, threads, n_factors=20, prior="normal"):
        self.X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
        self.arguments = {"num_latent": n_factors, "num_threads": threads}
        import smurff  # noqa: F401

        self.prior, self.session = prior, None

    def _open(self):
        import smurff

        # Samples have a normal prior; the prior in question is that of the features.
        session = smurff.TrainSession(
            priors=["normal", self.prior], burnin=10**6, nsamples=1, seed=1, verbose=0,
            **self.arguments,
        )  # fmt: skip
        session.addTrainAndTest(self.X)
        session.init()
        for _ in range(WARM):
            session.step()
        return session

    def stretch(self, n):
        self.session = self.session or self._open()
        begin = time.perf_counter()
        for _ in range(n):
            self.session.step()
        return (time.perf_counter() - begin) / n

    def short(self):
        self._open()


class FactorAnalysis:
    """scikit-learn's maximum likelihood factor analysis (randomised SVD, its default)."""

    least = 4

    def __init__(self, X, y, threads, n_factors=20):
        self.X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
        import sklearn.decomposition  # noqa: F401

        self.n_factors, self.each = n_factors, 0.1

    def _fit(self, n, tol=0.0):
        from sklearn.decomposition import FactorAnalysis, _factor_analysis

        # It has no hook: the decomposition of each iteration is one.
        clock, decompose = Clock(WARM, np.inf), _factor_analysis._randomized_svd

        def ticking(*args, **kwargs):
            clock.tick()
            return decompose(*args, **kwargs)

        model = FactorAnalysis(self.n_factors, max_iter=n, tol=tol, random_state=0)
        _factor_analysis._randomized_svd = ticking
        try:
            begin = time.perf_counter()
            model.fit(self.X)
            return time.perf_counter() - begin, model.n_iter_, clock
        finally:
            _factor_analysis._randomized_svd = decompose

    def stretch(self, n):
        # It may stop earlier, where its likelihood falls; the clock counts what was done.
        self.each = self._fit(WARM + n)[2].seconds
        return self.each

    def fit(self, limit):
        most = int(np.clip(limit / self.each, 1, 1000))
        seconds, iterations, _ = self._fit(most, tol=1e-2)
        return {"seconds": seconds, "iterations": iterations, "converged": iterations < most}

    def short(self):
        self._fit(3)


class Task:
    """A whole classifier: what a user would fit first."""

    def __init__(self, X, y, threads, n_factors=20, scores=False):
        self.X, self.y, self.n_factors, self.scores = X, y, n_factors, scores

    def fit(self, limit):
        from sklearn.decomposition import PCA
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import QuantileTransformer, StandardScaler
        from sklearn.svm import LinearSVC

        steps = [StandardScaler()]
        if self.scores:
            quantiles = min(len(self.X), 1000)
            steps = [
                QuantileTransformer(n_quantiles=quantiles, output_distribution="normal"),
                PCA(self.n_factors, random_state=0),
            ]
        pipeline = make_pipeline(*steps, LinearSVC(dual="auto", max_iter=20_000))
        begin = time.perf_counter()
        pipeline.fit(self.X, self.y)
        return {"seconds": time.perf_counter() - begin, "iterations": None, "converged": True}

    def short(self):
        self.fit(np.inf)


# name: class, its arguments, the peer it needs (None: our own environment), what is measured
CONTESTANTS = {
    "rankfactor VB": (Ours, {}, None, ("stretch", "fit", "memory")),
    "rankfactor Gibbs": (Ours, {"engine": "gibbs"}, None, ("stretch", "memory")),
    "mofapy2, ELBO off": (Mofa, {}, "mofapy2", ("stretch", "memory")),
    "mofapy2, default": (Mofa, {"elbo": True}, "mofapy2", ("stretch", "fit")),
    "SMURFF normal": (Smurff, {}, "smurff", ("stretch", "memory")),
    "SMURFF spike-and-slab": (Smurff, {"prior": "spikeandslab"}, "smurff", ("stretch",)),
    "FactorAnalysis": (FactorAnalysis, {}, "sklearn", ("stretch", "fit", "memory")),
    "LinearSVC": (Task, {}, None, ("fit",)),
    "normal scores + PCA + LinearSVC": (Task, {"scores": True}, None, ("fit",)),
}
