"""Turning published labelled data into gold sets."""
