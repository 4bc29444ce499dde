"""Sweeps: many searches and trainings in stages, compared and pruned."""
