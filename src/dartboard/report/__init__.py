"""Reports: runs as one HTML page, alone or compared."""

from dartboard.report.load import load_runs
from dartboard.report.write import REPORT, ReportHook, try_report, watch, write_report

__all__ = ["REPORT", "ReportHook", "load_runs", "try_report", "watch", "write_report"]
