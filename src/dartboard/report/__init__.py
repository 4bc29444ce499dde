"""Runs as one HTML page to look at, alone or beside each other."""

from dartboard.report.load import gather
from dartboard.report.write import REPORT, ReportHook, try_report, watch, write_report

__all__ = ["REPORT", "ReportHook", "gather", "try_report", "watch", "write_report"]
