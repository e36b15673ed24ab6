"""What the HTTP library tells of a request: nothing, since it would tell queries with tokens and headers with keys."""

import logging


def tell_no_requests() -> None:
    """httpx logs URLs and httpcore headers, at levels that somebody may have switched on for the whole process."""
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
