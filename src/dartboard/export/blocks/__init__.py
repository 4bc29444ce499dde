"""The functions and classes of exported Python files: `dartboard.export.python_source` copies what a network
needs.

They need nothing but torch, and are never imported: they are read as text.
"""
