"""Keeping no text from before redaction in a lake (`run.redact_only`)."""
