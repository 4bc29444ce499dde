"""Commands that this package adds to dartboard."""
