"""The report of a fitted model: one HTML file that opens offline."""

from rankfactor.report.write import write_report

__all__ = ["write_report"]
