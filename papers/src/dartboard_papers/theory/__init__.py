"""The papers' theorems, measured: linear cells, expert problems, mirror descent, stationarity of a run."""
