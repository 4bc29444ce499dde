"""Data sets, embedded, in folders and in the official files of their publishers."""
