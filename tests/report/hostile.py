"""A report of a table whose 1,000 features, and samples, classes and tasks, have hostile names."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from rankfactor import RankFactorClassifier
from rankfactor.report import write_report

MARK = "zq9"  # in all hostile names, and nowhere else
HOST = "http://192.0.2.1/"  # reserved for documentation: nothing answers there
PAYLOADS = [
    f"<script>{MARK}=1</script>",
    f"</script><script>{MARK}=1</script>",
    f"</title><script>{MARK}=1</script>",
    f"</style><script>{MARK}=1</script>",
    f"</textarea><script>{MARK}=1</script>",
    f"</text></svg><script>{MARK}=1</script>",
    f"<img src=x onerror={MARK}=1>",
    f'"><img src="{HOST}{MARK}">',
    f"'><svg onload='{MARK}=1'>",
    f'" onmouseover="{MARK}=1" x="',
    f"' autofocus onfocus='{MARK}=1' x='",
    f"<svg><animate onbegin={MARK}=1 attributeName=x dur=1s>",
    f"<svg><use href='data:image/svg+xml,{MARK}'/>",
    f"<iframe srcdoc='<script>parent.{MARK}=1</script>'>",
    f"<iframe src=javascript:{MARK}=1>",
    f"<object data={HOST}{MARK}>",
    f"<embed src={HOST}{MARK}>",
    f"<base href={HOST}{MARK}>",
    f"<link rel=stylesheet href={HOST}{MARK}>",
    f"<meta http-equiv=refresh content='0;url={HOST}{MARK}'>",
    f"<form action={HOST}{MARK}><input type=submit>",
    f"<a href=javascript:{MARK}=1>a</a>",
    f"<math><mtext></mtext><script>{MARK}=1</script></math>",
    f"<style>*{{background:url({HOST}{MARK})}}</style>",
    f"x;background:url({HOST}{MARK})",
    f"<!-- {MARK} -->",
    f"--><script>{MARK}=1</script>",
    f"]]><script>{MARK}=1</script>",
    f"<![CDATA[{MARK}]]>",
    f"{{{{{MARK}}}}}",
    f"{{% include '{MARK}' %}}",
    f"${{{MARK}=1}}",
    f"${MARK}_1$",
    f"\\u003cscript>{MARK}=1\\u003c/script>",
    f"&lt;script&gt;{MARK}=1&lt;/script&gt;",
    f"&#60;script&#62;{MARK}=1",
    f"\u202e<script>{MARK}",
    f"\u2028{MARK}=1//",
    f"=HYPERLINK({HOST}{MARK})",
    f"javascript:{MARK}=1",
]
N_NAMES, N_SAMPLES = 1000, 40


def names(count: int = N_NAMES) -> list[str]:
    """The given number of different hostile names."""
    return [f"{PAYLOADS[n % len(PAYLOADS)]}{n}" for n in range(count)]


def plain_names(count: int = N_NAMES) -> list[str]:
    return [f"feature {n}" for n in range(count)]


def report(path: Path, features: list[str]) -> Path:
    """A report with all its sections; names of samples, classes and the task are like these."""
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((N_SAMPLES, 2))
    values = scores @ rng.standard_normal((2, len(features)))
    values += 0.5 * rng.standard_normal(values.shape)
    samples, classes = [f"{one}s" for one in features[:N_SAMPLES]], features[:3]
    index = pd.Index(samples, name="sample")
    table = pd.DataFrame(values, index, features)
    groups = np.array(classes, object)[np.digitize(scores[:, 0], [-0.5, 0.5])]
    labels = pd.DataFrame({f"task {features[6]}": groups}, index)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RankFactorClassifier(n_factors=2, max_iter=5, random_state=0).fit(table, labels)
    return write_report(
        path,
        model.posterior_,
        title=features[7],
        description=features[8],
        source=features[9],
        warnings=features[10:40],
        settings={features[40]: features[41]},
        table=table,
    )
