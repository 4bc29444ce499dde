"""Understand an architecture: its graph, its variants, how it learns, and the loss around it."""
