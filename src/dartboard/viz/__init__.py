"""Pictures of cells for terminal, page and matplotlib, and plots of plain arrays; no torch."""
