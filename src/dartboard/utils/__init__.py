"""What every package may use and what knows nothing of NAS: files, texts, signals, processes."""
