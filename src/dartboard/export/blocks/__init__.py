"""What written networks are made of: `dartboard.export.writing` copies from here what a network needs.

It needs nothing but torch, and is never run from here: it is read as text.
"""
