"""From what stands on the command line to the cell and the space that are meant."""

from dartboard.runs.lookup import data_of_run, find_genotype, home_of, space_name, space_of_run

__all__ = ["data_of_run", "find_genotype", "home_of", "space_name", "space_of_run"]
