"""Scans of which nothing can be read."""


def unreadable_scan(number: int) -> bytes:
    """A PDF of one page with no text and no image on it that could be recognized."""
    page = b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 %d 842]>>endobj\n" % (500 + number)
    return (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        + page
        + b"trailer<</Root 1 0 R>>\n%%EOF\n"
    )
