"""Other tools that can watch a run: TensorBoard."""
