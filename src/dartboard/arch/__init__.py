"""How architecture parameters move: gradients, second-order products, update rules."""
