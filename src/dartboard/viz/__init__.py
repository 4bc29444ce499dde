"""What pictures have in common: how lines are told apart, how figures are saved."""
