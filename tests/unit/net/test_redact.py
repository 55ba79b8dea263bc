import base64
from urllib.parse import quote, quote_plus

import orjson
from hypothesis import given
from hypothesis import strategies as st

from agenteval.net.redact import Redactor

SECRETS = st.text(st.characters(codec="utf-8"), min_size=4, max_size=60)


@given(SECRETS, st.text(max_size=20), st.text(max_size=20))
def test_no_form_of_a_secret_survives(secret: str, before: str, after: str) -> None:
    redact = Redactor([secret])
    for form in (
        secret,
        quote(secret),
        quote_plus(secret),
        quote(secret, safe=""),
        orjson.dumps(secret).decode()[1:-1],
    ):
        assert form not in redact(before + form + after)


@given(st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJ0123456789-_", min_size=8, max_size=60), st.text(max_size=5))
def test_a_secret_inside_base64_is_removed_wherever_it_begins(secret: str, user: str) -> None:
    redact = Redactor([secret])
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        shown = redact(encode(f"{user}:{secret}".encode()).decode())
        padded = base64.urlsafe_b64decode(shown.partition("[")[0].translate(str.maketrans("+/", "-_")) + "===")
        assert "[secret]" in shown
        assert secret[:2].encode() not in padded.removeprefix(f"{user}:".encode())


def test_a_secret_is_known_without_the_whitespace_around_it() -> None:
    assert Redactor(["sk-canary\n", " 密钥密钥 "])("sk-canary, 密钥密钥") == "[secret], [secret]"


def test_nothing_else_is_touched() -> None:
    redact = Redactor(["sk-1234567890", "sk-12345"])
    assert redact("Bearer sk-1234567890, not sk-99") == "Bearer [secret], not sk-99"
    assert redact("用户说：你好") == "用户说：你好"
    assert Redactor([])("text") == "text"


def test_a_value_too_short_to_be_a_secret_does_not_blank_out_words() -> None:
    assert Redactor(["a", ""])("a banana") == "a banana"
