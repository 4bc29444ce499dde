"""The scoreboard: searches against an oracle."""
