"""Interpretation of fitted models: leading features, coefficients, feature network, gene sets.

All functions take a `rankfactor.posterior.Posterior`, newly fitted or loaded from a file, and
return a DataFrame or a networkx graph. See docs/reference/interpretation.md for how to read them.
Names are imported on first use.
"""

from rankfactor.lazy import importer

TYPE_CHECKING = False  # known to type checkers; avoids importing typing
if TYPE_CHECKING:
    from rankfactor.interpret.contributions import contribution_table, sample_contributions
    from rankfactor.interpret.effects import effect_table
    from rankfactor.interpret.enrichment import enrich
    from rankfactor.interpret.genesets import read_gmt
    from rankfactor.interpret.gsea import preranked
    from rankfactor.interpret.held_out import (
        class_curves,
        class_table,
        confusion_table,
        sample_table,
    )
    from rankfactor.interpret.meaning import factor_meanings
    from rankfactor.interpret.network import edge_table, feature_network, modules, write_graphml
    from rankfactor.interpret.overview import (
        coefficient_table,
        factor_correlations,
        factor_table,
        top_features,
    )
    from rankfactor.interpret.quality import table_quality

_HOMES = {
    "class_curves": "held_out",
    "class_table": "held_out",
    "coefficient_table": "overview",
    "confusion_table": "held_out",
    "contribution_table": "contributions",
    "edge_table": "network",
    "effect_table": "effects",
    "enrich": "enrichment",
    "factor_correlations": "overview",
    "factor_meanings": "meaning",
    "factor_table": "overview",
    "feature_network": "network",
    "modules": "network",
    "preranked": "gsea",
    "read_gmt": "genesets",
    "sample_contributions": "contributions",
    "sample_table": "held_out",
    "table_quality": "quality",
    "top_features": "overview",
    "write_graphml": "network",
}

__all__ = [
    "class_curves",
    "class_table",
    "coefficient_table",
    "confusion_table",
    "contribution_table",
    "edge_table",
    "effect_table",
    "enrich",
    "factor_correlations",
    "factor_meanings",
    "factor_table",
    "feature_network",
    "modules",
    "preranked",
    "read_gmt",
    "sample_contributions",
    "sample_table",
    "table_quality",
    "top_features",
    "write_graphml",
]


__getattr__ = importer(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__
