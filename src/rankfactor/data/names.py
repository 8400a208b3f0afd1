"""Names of samples and features: recognition by headings and patterns, and checks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from rankfactor.errors import InputError, did_you_mean, listed

# Headings of a column that always contains names, whatever its cells; letters and digits only.
_NAME_HEADINGS = frozenset({"", "id", "sample", "sampleid", "rownames", "rowname", "unnamed0"})
# fmt: off
# Headings of names if no cell is missing or repeated: a patient may have two samples.
_LIKELY_HEADINGS = frozenset(
    {
        "samples", "samplename", "patient", "patientid", "subject", "subjectid", "individual",
        "individualid", "barcode", "cell", "cellid", "case", "caseid", "participant",
        "participantid", "donor", "donorid", "geoaccession", "accession", "run", "name",
        "names", "index", "specimen", "specimenid"
    }
)
FEATURE_HEADINGS = frozenset(
    {
        "gene", "genes", "geneid", "genename", "genesymbol", "symbol", "hgncsymbol",
        "ensembl", "ensemblid", "ensemblgeneid", "entrez", "entrezid", "entrezgeneid",
        "probe", "probeid", "probeset", "probesetid", "idref", "feature", "features",
        "featureid", "featurename", "transcript", "transcriptid", "protein", "proteins",
        "proteinid", "uniprot", "metabolite", "metabolites", "compound", "otu", "otuid",
        "asv", "asvid", "taxon", "cpg", "analyte", "mirna", "peptide", "targetid"
    }
)
# fmt: on
_FEATURE = re.compile(
    r"ENS[A-Z]*[GTP]\d{6,}(\.\d+)?|\d+(_[a-z]{1,2})?_at|AFFX-.*|ILMN_\d+|cg\d{8}|"
    r"[NX][MRP]_\d+(\.\d+)?|[a-z]{3}-(mi[rR]|let)-.*|A_\d+_P\d+|rs\d{3,}"
)
_SAMPLE = re.compile(
    r"GSM\d+|[SED]RR\d+|SAM[NED]A?\d+|TCGA-\w\w-\w{4}.*|"
    r"(sample|patient|subject|donor|participant)[ _.-]?\d+.*",
    re.IGNORECASE,
)
# fmt: off
# Genes that occur in almost every table of human or mouse genes.
_COMMON_GENES = frozenset(
    {
        "ACTB", "GAPDH", "TP53", "B2M", "MYC", "EGFR", "STAT1", "IL6", "TNF", "CD4", "CD8A",
        "VEGFA", "AKT1", "KRAS", "HLA-A", "RPL13A"
    }
)
# fmt: on
_DATE = re.compile(
    r"\d{1,2}-(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|"
    r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)-\d{2,4}",
    re.IGNORECASE,
)
_LOOKED_AT = 2000


def plain(heading: str) -> str:
    """Return a heading in lower case, letters and digits only."""
    return re.sub(r"[^a-z0-9]", "", heading.lower())


def is_heading_of_names(heading: str, cells: Sequence[str]) -> bool:
    """Whether a column with this heading and these cells contains names."""
    word = plain(heading)
    # A heading such as "%" has no letters but is not empty.
    if not word and heading:
        return False
    if word in _NAME_HEADINGS or word in FEATURE_HEADINGS:
        return True
    return word in _LIKELY_HEADINGS and all(cells) and len(set(cells)) == len(cells)


def looks_like_features(names: Sequence[str]) -> bool:
    """Whether names are those of genes, probes and the like."""
    return _most_match(_FEATURE, names) or (
        len(_COMMON_GENES.intersection(name.upper() for name in names)) >= 2
    )


def looks_like_samples(names: Sequence[str]) -> bool:
    """Whether names are accessions or numbers of samples or people."""
    return _most_match(_SAMPLE, names)


def dates_among(names: Iterable[str]) -> list[str]:
    """Return the names that are dates: spreadsheets turn gene names such as MARCH1 into them."""
    return [name for name in names if _DATE.fullmatch(name)]


def check_unique(names: Iterable[str], what: str, source: str | Path) -> None:
    """Refuse repeated names."""
    index = pd.Index(list(names), dtype=object)
    if not index.is_unique:
        repeated = list(index[index.duplicated()].unique())
        raise InputError(
            f"{source} has a repeated {what}: {listed(repeated, 3)}; make every name unique."
        )


def no_id_column(source: str | Path, name: object, known: Sequence[str]) -> InputError:
    """The error about a column of names that a file does not have."""
    return InputError(
        f"{source} has no column '{name}' to use as id_column; its columns begin with "
        f"{listed(known, 3)}.{did_you_mean(name, known)}"
    )


def _most_match(pattern: re.Pattern[str], names: Sequence[str]) -> bool:
    looked_at = names[:_LOOKED_AT]
    return sum(bool(pattern.fullmatch(name)) for name in looked_at) * 2 > len(looked_at)
