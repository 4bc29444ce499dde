"""Analysis of architectures and searches: shapes, variants, learning curves, landscapes, trajectories."""
