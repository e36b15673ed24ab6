"""Secrets in URLs: a URL names the environment variable, `?token=${API_TOKEN}`; the value is put in for the request.
So plan, ledger, index, reports and logs only ever see the name.

Only URLs of the configuration and of its file of URLs may name one: a sitemap or a redirect that did could send any
variable of this process to any server.
"""

import os
import re
from urllib.parse import parse_qsl, quote, urlsplit

from tasks.errors import ConfigurationError

_REFERENCE = re.compile(r"(?:\$|%24)(?:\{|%7[Bb])([A-Za-z_][A-Za-z0-9_]*)(?:\}|%7[Dd])")

_SECRET = frozenset(
    {"access_token", "api_key", "apikey", "api-key", "auth", "auth_token", "authorization", "awsaccesskeyid", "bearer"}
    | {"client_secret", "credential", "id_token", "jwt", "passwd", "password", "private_token", "pwd", "refresh_token"}
    | {"secret", "session_token", "sig", "signature", "token", "x-amz-credential", "x-amz-security-token"}
    | {"x-amz-signature", "x-goog-credential", "x-goog-signature"}
)
"""Parameters of queries whose value lets in whoever knows it."""


def references(url: str) -> list[str]:
    """The environment variables that a URL names.

    >>> references("https://example.org/a?token=${API_TOKEN}"), references("https://example.org/a?token=x")
    (['API_TOKEN'], [])
    """
    return _REFERENCE.findall(url)


def carries_secret(url: str) -> bool:
    """Whether the query holds a secret itself, instead of the name of the variable that holds it.

    >>> carries_secret("https://example.org/a?page=2&Token=abc"), carries_secret("https://example.org/a?token=${T}")
    (True, False)
    """
    found = parse_qsl(urlsplit(url).query)
    return any(name.lower() in _SECRET and not _REFERENCE.fullmatch(value) for name, value in found)


def with_secrets(url: str) -> str:
    """The URL to ask for, with the values of the variables that it names.

    Raises:
        ConfigurationError: a variable is not set.
    """
    return _REFERENCE.sub(lambda found: quote(_value(found[1]), safe=""), url)


def _value(name: str) -> str:
    value = os.environ.get(name, "").strip()
    if not value:
        raise ConfigurationError(
            f"a URL of a source names the environment variable {name}, which is not set",
            remedy=f"set it where corpusgate runs: export {name}=…",
        )
    return value
