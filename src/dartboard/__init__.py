"""Differentiable neural architecture search: spaces as data, one network builder for search and training."""

__version__ = "0.1.0.dev0"
