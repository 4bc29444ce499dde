"""The parts of a report, a module each: from what was found to HTML."""
