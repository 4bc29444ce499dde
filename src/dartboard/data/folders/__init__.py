"""Folders of images: how they are laid out, what is found in them, and what is remembered of it."""
