"""Configuration: defaults < recipe < YAML file < environment < flags < dotted words."""
