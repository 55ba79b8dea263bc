import traceback
from typing import Any

import pytest

from agenteval.channels.build import factory
from agenteval.domain.errors import InputError
from agenteval.domain.target import Target
from agenteval.net.guard import Guard


def problems_of(channel: str, params: dict[str, Any]) -> str:
    with pytest.raises(InputError) as raised:
        factory(Target("agent", channel, params), "/target")
    return str(raised.value)


def test_an_unknown_channel_names_what_is_near() -> None:
    assert problems_of("htpp", {}) == "/target/channel: unknown channel 'htpp' (did you mean 'http'?)"


@pytest.mark.parametrize(
    ("channel", "params", "problem"),
    [
        ("http", {}, "/target/params/url: this parameter is required"),
        ("http", {"url": "http://a", "timeout": 3}, "/target/params/timeout: unknown parameter"),
        ("http", {"url": "ftp://a"}, "/target/params/url: cannot use the URL 'ftp://a'"),
        ("http", {"url": "http://user:pw@a/"}, "/target/params/url: cannot use the URL 'http://a/'"),
        ("http", {"url": 7}, "/target/params/url: cannot use"),
        ("http", {"url": "http://a/{history}"}, "/target/params/url: {history} is not known here: use {message}"),
        ("http", {"url": "http://a", "request": {"q": "{msg}"}}, "/target/params/request: {msg} is not known here"),
        ("http", {"url": "http://a", "headers": {"X": "{message}"}}, "/target/params/headers/X: {message} is not"),
        ("http", {"url": "http://a", "headers": {"X": 1}}, "/target/params/headers/X: must be text"),
        ("http", {"url": "http://a", "reply": "a..b"}, "/target/params/reply: 'a..b' is no path"),
        ("http", {"url": "http://a", "method": "DELETE"}, "/target/params/method: "),
        ("http", {"url": "http://a", "tool_calls": {}}, "/target/params/tool_calls/path: this parameter is required"),
        (
            "http",
            {"url": "http://a", "tool_calls": {"path": "t", "args": "x"}},
            "/target/params/tool_calls/args: unknown parameter",
        ),
        (
            "http",
            {"url": "http://a", "poll": {"url": "http://b/{id}", "id_path": "id", "done_path": "done"}},
            "/target/params: poll.url must be at the same scheme, host and port as url",
        ),
        (
            "http",
            {
                "url": "http://a",
                "poll": {"url": "http://a/{id}", "id_path": "id", "done_path": "done", "interval_ms": 0},
            },
            "/target/params/poll/interval_ms: ",
        ),
        ("openai_chat", {"base_url": "http://a"}, "/target/params/model: this parameter is required"),
        ("openai_chat", {"base_url": "a", "model": "m"}, "/target/params: cannot use the URL 'a'"),
        (
            "openai_chat",
            {"base_url": "http://a", "model": "m", "extra": {"stream": True}},
            "/target/params: extra cannot set stream",
        ),
        ("python", {"callable": "agent"}, '/target/params: callable must be "package.module:function"'),
        ("command", {"command": ""}, "/target/params: command is empty"),
        ("command", {"command": "unclosed 'quote"}, "/target/params: "),
        ("replay", {"dialogs": {"case": []}}, "/target/params: dialogs must be recorded dialogs"),
    ],
)
def test_each_unusable_parameter_is_named(channel: str, params: dict[str, Any], problem: str) -> None:
    assert problems_of(channel, params).startswith(problem)


def test_all_problems_are_told_at_once() -> None:
    assert len(problems_of("http", {"reply": "", "nope": 1}).splitlines()) == 3


@pytest.mark.parametrize(
    ("channel", "params"),
    [
        (
            "http",
            {"url": "http://a", "headers": {"X-Key": "sk-canary"}, "request": {"key": "sk-canary", "q": "{message}"}},
        ),
        ("openai_chat", {"base_url": "http://a", "model": "m", "api_key": "sk-canary", "headers": {"X": "sk-canary"}}),
    ],
)
def test_secrets_are_in_no_representation_and_no_trace(channel: str, params: dict[str, Any]) -> None:
    target = Target("agent", channel, params, secrets=frozenset({"sk-canary"}))
    built = factory(target)
    assert "sk-canary" not in repr(target) + repr(built) + repr(built.create(target, Guard()))
    with pytest.raises(InputError) as raised:
        factory(Target("agent", channel, {**params, "unknown": "".join(("sk-", "canary"))}))
    assert "sk-canary" not in "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize(
    "numbers", [{"timeout_s": 0}, {"timeout_s": float("nan")}, {"max_concurrency": 0}, {"retries": -1}]
)
def test_a_target_refuses_numbers_that_make_no_sense(numbers: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(numbers))):
        Target("agent", "http", **numbers)


def test_a_rate_must_be_positive() -> None:
    with pytest.raises(ValueError, match="messages_per_minute"):
        Target("agent", "http", messages_per_minute=0)
