"""Which clusters a fit accepts, and its messages for others."""

import sys
from types import SimpleNamespace

import pandas as pd
import pytest
from tests.simulate import simulate

from rankfactor import RankFactorClassifier
from rankfactor.engine.large import connecting
from rankfactor.engine.large.connecting import check_versions, connect, jobs_on
from rankfactor.errors import InputError
from rankfactor.evaluation import cross_validate

distributed = pytest.importorskip("distributed")


@pytest.mark.parametrize(
    ("cluster", "sentence"),
    [
        ("tcp://127.0.0.1:9", "no scheduler answers at tcp://127.0.0.1:9: check the address"),
        ("tcp://no host:1", "no scheduler answers at tcp://no host:1"),
        ("somewhere", "cluster must be an address such as tcp://host:8786.*not 'somewhere'"),
        ("local:0", "not 'local:0'"),
        (4, "cluster must be a distributed.Client, .* not int"),
    ],
)
def test_no_cluster_is_one_sentence(cluster, sentence):
    with pytest.raises(InputError, match=sentence), connect(cluster):
        pass


def test_a_missing_package_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(
            InputError, match=r"needs the package distributed: pip install 'rankfactor\["
        ),
        connect("local:2"),
    ):
        pass


def _client(workers, scheduler="3.11.7.final.0"):
    """The parts of a client that `check_versions` uses."""
    return SimpleNamespace(
        scheduler=SimpleNamespace(address="tcp://far:8786"),
        run=lambda function: workers,
        get_versions=lambda: {"scheduler": {"host": {"python": scheduler}}},
    )


OWN = {"Python": "3.11.7", "rankfactor": "0.1.0", "numpy": "2.1", "numba": "0.61"}


@pytest.fixture
def _own(monkeypatch):
    monkeypatch.setattr(connecting, "_versions", lambda: lambda: OWN)


@pytest.mark.usefixtures("_own")
def test_versions_that_agree_are_welcome():
    check_versions(_client({"tcp://a:1": OWN | {"Python": "3.11.2"}}))


@pytest.mark.usefixtures("_own")
@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (
            {"rankfactor": "0.2.0"},
            "the worker at tcp://a:1 has rankfactor 0.2.0, this process rankfactor 0.1.0: install",
        ),
        ({"rankfactor": None}, "the worker at tcp://a:1 has no rankfactor, this process"),
        ({"Python": "3.12.1"}, r"the worker at tcp://a:1 has Python 3.12.1, .* Python 3.11.7"),
    ],
)
def test_other_versions_are_refused(changed, sentence):
    with pytest.raises(InputError, match=sentence):
        check_versions(_client({"tcp://b:1": OWN, "tcp://a:1": OWN | changed}))


@pytest.mark.usefixtures("_own")
def test_a_scheduler_of_another_python_is_refused():
    with pytest.raises(InputError, match=r"the scheduler at tcp://far:8786 has Python 3\.12"):
        check_versions(_client({"tcp://a:1": OWN}, "3.12.0.final.0"))


@pytest.mark.usefixtures("_own")
def test_another_numpy_is_warned_of():
    with pytest.warns(UserWarning, match=r"workers \('tcp://a:1'\) have numpy 1.26, this process"):
        check_versions(_client({"tcp://a:1": OWN | {"numpy": "1.26"}}))


@pytest.mark.usefixtures("_own")
def test_a_cluster_without_workers_is_refused():
    with pytest.raises(InputError, match="the cluster at tcp://far:8786 has no workers"):
        check_versions(_client({}))


def test_a_client_stays_open():
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        with connect(client) as same:
            assert same is client
        assert client.status == "running"


@pytest.mark.slow
def test_local_processes_end_with_the_block():
    with connect("local:2") as client:
        assert list(client.nthreads().values()) == [1, 1]
        address = client.scheduler.address
        with connect(address) as second:
            assert second.scheduler.address == address
        assert client.status == "running"
    assert client.status == "closed"
    with pytest.raises(InputError, match="no scheduler answers"), connect(address):
        pass


@pytest.mark.slow
def test_folds_are_fitted_on_a_cluster():
    simulated = simulate(n=80, d=10)
    table, labels = pd.DataFrame(simulated.X), pd.DataFrame({"status": simulated.y})
    table.columns = [f"f{i}" for i in table.columns]
    models = {"ours": RankFactorClassifier(n_factors=2, n_threads=1)}
    here = cross_validate(models, table, labels, n_jobs=1)
    with connect("local:2") as client, jobs_on(client) as n_jobs:
        assert n_jobs == 2
        there = cross_validate(models, table, labels, n_jobs=n_jobs)
    pd.testing.assert_frame_equal(here.decisions, there.decisions)
