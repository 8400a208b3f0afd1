"""The report of a fitted model: one HTML file that opens offline."""

from rankfactor.interpret.accuracy import Validation
from rankfactor.report.write import write_report

__all__ = ["Validation", "write_report"]
