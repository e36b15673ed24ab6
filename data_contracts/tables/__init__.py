"""A contract per table, in the Open Data Contract Standard v3.1."""
