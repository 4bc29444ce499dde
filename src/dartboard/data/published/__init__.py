"""Published data sets: the readers of their official files, and where these are to be had."""
