"""Text formats of genotypes: JSON, DARTS, the NAS-Bench-201 string, the NAS-Bench-101 matrix."""
