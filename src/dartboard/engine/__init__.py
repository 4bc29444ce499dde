"""The training loop that searches and trainings share: epochs, steps, state, random numbers, memory."""
