"""Several processes that share one search or training: the process group, launching, batch-norms."""
