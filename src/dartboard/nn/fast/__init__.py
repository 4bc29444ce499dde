"""The fast path of the supernet: everything that leaves a node is computed together."""
