"""Secrets are removed by value, whatever wrote them into a text: an error body, a URL, a traceback."""

import base64
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

import orjson

MASK = "[secret]"
SHORTEST = 4  # below this, a value would blank out ordinary words


class Redactor:
    """Replaces every known secret, also where it stands percent-encoded, inside JSON, or inside base64."""

    def __init__(self, secrets: Iterable[str]) -> None:
        # Servers drop the whitespace around what stands in a header.
        known = {form for secret in secrets for form in (secret, secret.strip())}
        forms = {form for secret in known if len(secret) >= SHORTEST for form in _forms(secret)}
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if forms else None

    def __call__(self, text: str) -> str:
        return self._pattern.sub(MASK, text) if self._pattern else text


def _forms(secret: str) -> Iterator[str]:
    yield secret
    yield orjson.dumps(secret).decode()[1:-1]
    for quoted in (quote(secret, safe=""), quote(secret), quote_plus(secret)):
        yield quoted
        yield re.sub(r"%..", lambda escape: escape[0].lower(), quoted)
    raw = secret.encode()
    for lead in range(3):  # base64 of "user:secret" depends on where the secret begins, modulo 3
        whole = base64.b64encode(bytes(lead) + raw).decode().rstrip("=")
        # The outer letters also hold bits of the neighbours.
        inner = whole[(lead * 8 + 5) // 6 : (lead + len(raw)) * 8 // 6]
        if len(inner) >= SHORTEST:
            yield inner
            yield inner.replace("+", "-").replace("/", "_")
