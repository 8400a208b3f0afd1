"""Every command reports an interrupted fit as interrupted."""

from __future__ import annotations

import json
import os
import signal

import pytest
from tests.cli.running import LABELS, call

from rankfactor.engine import vb


def test_ctrl_c_is_told_by_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    record = vb.record

    def interrupt_at_the_third(fit: vb.Fit, elbo: float) -> None:
        record(fit, elbo)
        if len(fit.history.elbo) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(vb, "record", interrupt_at_the_third)
        result = call("fit", "table.csv", *LABELS, "--n-factors", "2", "--json")
    assert result.exit_code == 130
    told = json.loads(result.stdout)
    assert told["interrupted"] is True
    assert told["converged"] is False
    assert told["convergence"]["state"] == "interrupted"
    for command in ("inspect", "report"):
        assert (
            "Convergence: interrupted after 2 iterations"
            in call(command, "model.rankfactor").stdout
        )
    shown = json.loads(call("interpret", "model.rankfactor", "--json").stdout)
    assert shown["convergence"]["state"] == "interrupted"
    assert shown["warnings"] == ["The fit was interrupted after 2 iterations."]
