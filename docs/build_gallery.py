"""Draw the gallery: every figure of the library from real data, and the demo's report in a browser.

``RANKFACTOR_DATA=FOLDER make gallery`` writes docs/reference/gallery.md and the pictures in
docs/images. The code under every picture is the code that drew it. Digits come from the folder
(usps_3v5.npz) and are left as they are without it; the report's pictures need playwright and a
Chromium.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from rankfactor import Gibbs, RankFactorClassifier, load_alzheimer, plots
from rankfactor.cli.demo import run_demo
from rankfactor.interpret import feature_network, table_quality
from rankfactor.storage.model_file import load_model

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"


class Entry(NamedTuple):
    name: str
    title: str
    code: str
    text: str


ALZHEIMER = [
    Entry(
        "effects",
        "What drives a decision",
        'plots.effect_figure(posterior, "Impairment")',
        "Change of the decision when a feature moves from its first to its third quartile, and its "
        "spread between half-samples. Per cent: share of half-sample fits in which the feature is "
        "among the leading 20. Grey: not clear.",
    ),
    Entry(
        "contributions",
        "Why this sample",
        'plots.contribution_figure(posterior.explain(table)["Impairment: Impaired"], "12")',
        "From the decision of a typical sample to that of this one, by the largest contributions.",
    ),
    Entry(
        "scores",
        "Scores of two factors",
        'plots.score_figure(posterior, "Impairment")',
        "By default the two factors that matter most for the task.",
    ),
    Entry(
        "coefficients",
        "Coefficients of a task",
        'plots.coefficient_figure(posterior, "Impairment")',
        "The paper's figure. Lines: spread between half-samples (90 % limits). Clear coefficients "
        "are filled and have the colour of the class that they favour.",
    ),
    Entry(
        "distributions",
        "Scores by class",
        'plots.distribution_figure(posterior, "Impairment")',
        "The factors that matter most for the task.",
    ),
    Entry(
        "confusion",
        "Confusion matrix",
        'plots.confusion_figure(evaluation.decisions, "Impairment")',
        "Held-out samples by true and predicted class.",
    ),
    Entry(
        "missing",
        "Missing values",
        "plots.missing_figure(table_quality(damaged))",
        "By feature and by sample; here a tenth of the cells was removed at random.",
    ),
    Entry(
        "factor-correlations",
        "Correlations of the factors",
        "plots.factor_correlation_figure(posterior)",
        "",
    ),
    Entry(
        "loadings",
        "Loadings with their dendrogram",
        'plots.loading_figure(posterior, order="cluster", features_per_factor=2)',
        "Leading features of every factor in use.",
    ),
    Entry(
        "network",
        "Network of features",
        "plots.network_figure(feature_network(posterior, n_edges=250))",
        "Names that would cover another are left out.",
    ),
    Entry(
        "roc",
        "ROC with its band over folds",
        'plots.roc_figure(evaluation.decisions, "Impairment")',
        "Of `rankfactor.evaluation.cross_validate`; every sample is held out.",
    ),
    Entry(
        "rank",
        "One feature: values, ranks and w",
        'plots.rank_figure(posterior, table["Ab_42"], "Ab_42")',
        "The paper's figure 1: only the order of the values enters, through cuts.",
    ),
    Entry(
        "history",
        "Course of a variational fit",
        "plots.history_figure(posterior)",
        "",
    ),
    Entry(
        "trace",
        "Chains of a Gibbs fit",
        "plots.trace_figure(sampled)",
        "These chains are far too short, and the figure says so.",
    ),
]
DIGITS = [
    Entry(
        "digits",
        "Loadings as images",
        "plots.loading_image_figure(digits, image_shape=(16, 16))",
        "The paper's supplement figure: factors of the digits 3 and 5.",
    ),
    Entry(
        "components",
        "Responsibilities of the components",
        "plots.responsibility_figure(local)",
        "A nonlinear model with a Dirichlet-process mixture of the scores.",
    ),
]
REPORT = [
    ("report-light", "The first screen of the demo's report.", "light", (1280, 1000), None),
    ("report-dark", "One sample and its reasons, dark.", "dark", (1280, 1400), "#samples"),
    ("report-phone", "On a phone.", "light", (390, 780), None),
]


def save(figure: Figure, name: str) -> None:
    """Picture of a figure with few colours, which is small and looks the same."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=90)
    shrink(buffer, IMAGES / f"{name}.png")


def shrink(source: Any, path: Path) -> None:
    image = Image.open(source).convert("RGB")
    image.quantize(256, method=Image.Quantize.MEDIANCUT).save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size // 1024} kB")


def fit(model: str, table: Any, labels: Any, **settings: Any) -> Any:
    estimator = RankFactorClassifier(model, random_state=0, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(table, labels).posterior_


def photograph(report: Path) -> None:
    """Pictures of the report in the system's browser."""
    from playwright.sync_api import sync_playwright

    path = os.environ.get("RANKFACTOR_BROWSER") or shutil.which("chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name, _, scheme, (width, height), part in REPORT:
            page = browser.new_page(
                viewport={"width": width, "height": height}, color_scheme=scheme
            )
            page.goto(report.as_uri())
            if part is not None:
                page.evaluate("part => document.querySelector(part).scrollIntoView()", part)
                page.get_by_label("Misclassified only").check()
                page.locator("#samples-table .pick").nth(2).click()
                page.evaluate("part => document.querySelector(part).scrollIntoView()", part)
            shrink(io.BytesIO(page.screenshot()), IMAGES / f"{name}.png")
        browser.close()


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    data = load_alzheimer()
    table, labels = data.table, data.labels
    with tempfile.TemporaryDirectory() as folder:
        found = run_demo(Path(folder))
        evaluation, posterior = found.evaluation, load_model(found.model)
        if "--no-browser" not in sys.argv:
            photograph(found.report)
    engine = Gibbs(n_draws=150, burn_in=100, n_chains=2)
    names = {
        "plots": plots,
        "feature_network": feature_network,
        "table": table,
        "table_quality": table_quality,
        "damaged": table.mask(np.random.default_rng(0).random(table.shape) < 0.1),
        "evaluation": evaluation,
        "posterior": posterior,
        "sampled": fit("G-L-BSVM", table, labels, n_factors=5, engine=engine),
    }
    entries = list(ALZHEIMER)
    digits = Path(os.environ.get("RANKFACTOR_DATA", ".")) / "usps_3v5.npz"
    if digits.exists():
        usps = np.load(digits, allow_pickle=False)
        X, y = usps["X_train"], usps["y_train"]
        names["digits"] = fit("R-L-BSVM", X, y, n_factors=20, max_iter=100)
        mixture = {"experts": "per_component", "n_components": 10}
        names["local"] = fit("R-NL-BSVM", X, y, n_factors=20, max_iter=100, **mixture)
        entries += DIGITS
    else:
        print("RANKFACTOR_DATA has no usps_3v5.npz: the digits are left as they are")
    for entry in entries:
        save(eval(entry.code, names), entry.name)
    write()


def write() -> None:
    """The page, with all entries: pictures that were not redrawn are kept."""
    parts = [
        "# Gallery\n",
        "Built by `RANKFACTOR_DATA=FOLDER make gallery` from the bundled Alzheimer table, the "
        "demo's report and USPS digits. `posterior` is `model.posterior_` or the result of "
        "`load_model`, and every function returns a matplotlib figure: "
        '`figure.savefig("scores.pdf")`.\n',
        "```python\nfrom rankfactor import plots\n"
        "from rankfactor.interpret import feature_network, table_quality\n```\n",
        "## The report\n",
    ]
    for name, text, *_ in REPORT:
        parts.append(f"![{text}](../images/{name}.png)\n\n{text}\n")
    for heading, entries in (("Alzheimer's disease", ALZHEIMER), ("Digits", DIGITS)):
        parts.append(f"## {heading}\n")
        for entry in entries:
            parts.append(f"### {entry.title}\n\n`{entry.code}`\n")
            parts.append(f"![{entry.title}](../images/{entry.name}.png)\n")
            if entry.text:
                parts.append(f"{entry.text}\n")
    (DOCS / "reference" / "gallery.md").write_text("\n".join(parts), "utf-8")


if __name__ == "__main__":
    main()
