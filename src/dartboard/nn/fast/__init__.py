"""The fast path of the supernet: all candidates that leave a node are computed together."""
