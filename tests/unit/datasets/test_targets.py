"""Target files and short forms: what is filled in from the environment, and every fault with its place."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema_rs
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agenteval.channels import CHANNELS
from agenteval.channels.build import factory
from agenteval.datasets import targets
from agenteval.domain.errors import InputError
from agenteval.domain.target import Target
from agenteval.domain.transcript import Dialog
from agenteval.plugins import parameters_schema
from tests.fakes.dialogs import dialog

ENVIRONMENT = {"TOKEN": "s3cret-token", "HOST": "ftp://hidden", "EMPTY": "", "BYTES": "s3cret-\udcff"}


def load(given: str) -> Target:
    return targets.load(given, factory, ENVIRONMENT.get)


def loads(text: str, name: str = "my agent.yaml") -> Target:
    return targets.loads(text, name, factory, ENVIRONMENT.get)


def problems(text: str) -> list[str]:
    with pytest.raises(InputError) as error:
        loads(text, "f")
    return str(error.value).splitlines()


def test_a_target_file_with_everything() -> None:
    target = loads(
        """name: 预约助手
channel: http
params:
  url: http://localhost:8000/chat
  headers: {Authorization: "Bearer ${TOKEN}"}
  request: {text: "{message}", temperature: 0.70}
timeout_s: 5
max_concurrency: 2
messages_per_minute: 90.5
retries: 0
"""
    )
    assert target == Target(
        name="预约助手",
        channel="http",
        params={
            "url": "http://localhost:8000/chat",
            "headers": {"Authorization": "Bearer s3cret-token"},
            "request": {"text": "{message}", "temperature": 0.7},
        },
        timeout_s=5,
        max_concurrency=2,
        messages_per_minute=90.5,
        retries=0,
        secrets=frozenset({"s3cret-token"}),
    )


def test_what_is_left_out_is_as_by_default_and_the_name_is_the_files() -> None:
    text = '{"channel": "python", "params": {"callable": "agent.py:reply"}}'
    assert loads(text, "folder/my agent.json") == Target("my agent", "python", {"callable": "agent.py:reply"})


def test_variables_are_filled_in_anywhere_and_two_dollars_are_the_text_itself() -> None:
    target = loads("channel: command\nparams: {command: [./a, 'x${TOKEN}y${TOKEN}', '$${TOKEN} ${ TOKEN} $TOKEN']}")
    assert target.params == {"command": ["./a", "xs3cret-tokenys3cret-token", "${TOKEN} ${ TOKEN} $TOKEN"]}


@pytest.mark.parametrize(
    ("params", "pointer"),
    [
        ("{url: http://x/, headers: {Authorization: Bearer abc}}", "/params/headers/Authorization"),
        ("{url: http://x/, headers: {X-API-Key: abc}}", "/params/headers/X-API-Key"),
        ("{url: http://x/, request: {text: '{message}', session_token: abc}}", "/params/request/session_token"),
        ("{url: http://x/, headers: {X-Auth: abc}}", "/params/headers/X-Auth"),
        ("{url: http://x/, headers: {X-Tenant: abc}}", "/params/headers/X-Tenant"),
        ("{url: http://x/, request: {auth: abc}}", "/params/request/auth"),
        ("{url: http://x/, request: {accessKey: abc}}", "/params/request/accessKey"),
        ("{url: http://x/, request: [{token: abc}]}", "/params/request/0/token"),
        ("{url: http://x/, request: {passwords: ['{message}', abc]}}", "/params/request/passwords/1"),
        ("{url: 'http://x/?api_key=abc'}", "/params/url"),
        ("{url: http://x/, request: ['http://y/?auth=abc']}", "/params/request/0"),
    ],
)
def test_a_secret_that_is_written_out_is_refused_and_not_repeated(params: str, pointer: str) -> None:
    (problem,) = problems(f"channel: http\nparams: {params}")
    assert problem.startswith(f"f: {pointer} (line 2): a secret is written here")
    assert "${ITS_NAME}" in problem
    assert "abc" not in problem


@pytest.mark.parametrize("scheme", ["http", "HTTPS", "ftp"])
def test_a_password_in_a_url_is_shown_nowhere(scheme: str) -> None:
    with pytest.raises(InputError, match=r"://agent\.example/chat") as error:
        load(f"{scheme}://user:p?w@agent.example/chat")
    assert "user:" not in str(error.value)
    assert "p?w" not in str(error.value)


def test_a_secret_in_the_query_of_a_url_is_not_repeated() -> None:
    with pytest.raises(InputError, match=r"^http://agent\.example/: /params/url: a secret is written here") as error:
        load("http://agent.example/?token=abc")
    assert "abc" not in str(error.value)


def test_an_address_in_the_query_of_a_url_is_no_user() -> None:
    assert load("http://agent.example/chat?to=a@b.example").name == "http://agent.example/chat"


def test_two_dollars_are_the_text_itself_in_templates_too() -> None:
    target = loads("channel: http\nparams: {url: http://x/, request: {text: '{message} $${TOKEN}'}}")
    assert target.params["request"] == {"text": "{message} ${TOKEN}"}


def test_a_python_file_is_told_its_short_form() -> None:
    with pytest.raises(InputError, match=r"python:agent\.py:FUNCTION"):
        load("agent.py")


def test_what_is_no_secret_may_be_written_out() -> None:
    headers = (
        "{Accept: a/b, accept-language: zh, Content-Type: a/b, User-Agent: a, X-Request-Source: a, X-A: '${TOKEN}'}"
    )
    loads(f"channel: http\nparams: {{url: http://x/, headers: {headers}, request: {{author: a, m: '{{message}}'}}}}")


def test_a_placeholder_under_a_secrets_name_is_no_secret() -> None:
    loads("channel: http\nparams: {url: 'http://x/?token=${TOKEN}', request: {token: '{turn_index}', m: '{message}'}}")


@pytest.mark.parametrize("given", ["https://agent.example", "file"])
def test_a_source_holds_no_secret_and_can_be_read_again(given: str, tmp_path: Path) -> None:
    if given == "file":
        path = tmp_path / "my agent.yaml"
        path.write_text("channel: http\nparams: {url: http://a, headers: {K: '${TOKEN}'}}", encoding="utf-8")
        given = str(path)
    kept = orjson.dumps(targets.source(given))
    assert b"s3cret" not in kept
    assert targets.reload(orjson.loads(kept), factory, ENVIRONMENT.get) == load(given)


@pytest.mark.parametrize(
    ("given", "name", "channel", "params"),
    [
        ("http://localhost:1/chat?k=v", "http://localhost:1/chat", "http", {"url": "http://localhost:1/chat?k=v"}),
        ("https://agent.example", "https://agent.example", "http", {"url": "https://agent.example"}),
        ("python:my.agent:reply", "python:my.agent:reply", "python", {"callable": "my.agent:reply"}),
        ("command:./agent.sh --fast", "command:./agent.sh --fast", "command", {"command": "./agent.sh --fast"}),
    ],
)
def test_short_forms(given: str, name: str, channel: str, params: dict[str, Any]) -> None:
    assert load(given) == Target(name, channel, params)


@pytest.mark.parametrize("short", [True, False])
def test_recorded_dialogs_are_replayed_by_case_id(short: bool, tmp_path: Path) -> None:
    recorded = tmp_path / "dialogs.jsonl"
    recorded.write_text('{"id": "case-001", "turns": [{"input": "a", "actual_output": "b"}]}', encoding="utf-8")
    text = f"channel: replay\nparams: {{dialogs: {recorded}}}"
    dialogs: dict[str, Dialog] = (load(f"replay:{recorded}") if short else loads(text)).params["dialogs"]
    assert dialogs == {"case-001": dialog(("a", "b"))}


def test_every_problem_is_reported_with_its_place() -> None:
    assert problems("channel: http\ntimeout: 5\nretries: -1\nmax_concurrency: 1.5\ntimeout_s: .inf") == [
        "f: /timeout_s (line 5): must be a valid number, unable to parse string as a number",
        "f: /max_concurrency (line 4): must be a valid integer, got a number with a fractional part",
        "f: /retries (line 3): must be greater than or equal to 0",
        "f: /timeout (line 2): there is no such field (did you mean 'timeout_s'?)",
    ]
    assert problems("name: s\ncases: []") == [
        "f (line 1): looks like a scenario file, no target (a target has a channel, a scenario has cases)"
    ]
    assert problems("channel: htp") == ["f: /channel (line 1): unknown channel 'htp' (did you mean 'http'?)"]
    assert problems("channel: http\nparams:\n  url: http://a\n  metod: PUT\n  poll: {url: 'http://b'}")[1:] == [
        "f: /params/poll/done_path (line 5): this parameter is required",
        "f: /params/metod (line 4): unknown parameter (did you mean 'method'?)",
    ]


def test_every_variable_that_is_not_set_is_named() -> None:
    found = problems("channel: http\nparams:\n  url: ${NOWHERE}\n  headers:\n    - a ${EMPTY}\n")
    assert found == [
        "f: /params/url (line 3): the environment variable NOWHERE is not set ($${NOWHERE} is the text itself)",
        "f: /params/headers/0 (line 5): the environment variable EMPTY is not set ($${EMPTY} is the text itself)",
    ]


def test_a_variable_that_is_no_text_is_named() -> None:
    (found,) = problems("channel: command\nparams: {command: '${BYTES}'}")
    assert "the environment variable BYTES is no text in UTF-8" in found
    assert "s3cret" not in found


def test_no_message_shows_what_came_from_the_environment() -> None:
    (found,) = problems("channel: http\nparams: {url: '${HOST}/x'}")
    assert found.startswith("f: /params/url (line 2): cannot use the URL")
    assert "hidden" not in found


@pytest.mark.parametrize("given", ["nowhere", "ftp://a.b", "python:", "\0", "replay:nowhere.jsonl", "http://"])
def test_what_is_no_target_is_told_the_forms(given: str) -> None:
    with pytest.raises(InputError):
        load(given)


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return targets.schema({channel.name: parameters_schema(channel) for channel in CHANNELS.all()})


@pytest.mark.parametrize(
    ("target", "valid"),
    [
        ({"channel": "http", "params": {"url": "http://a"}, "timeout_s": 1}, True),
        ({"channel": "http", "params": {"url": "http://a", "poll": {"url": "http://a"}}}, False),
        ({"channel": "http", "params": {"uri": "http://a"}}, False),
        ({"channel": "replay", "params": {"dialogs": "a.jsonl"}}, True),
        ({"channel": "http"}, False),
        ({"channel": "other", "params": {}}, False),
    ],
)
def test_the_schema_knows_the_parameters_of_each_channel(schema: dict[str, Any], target: object, valid: bool) -> None:
    jsonschema_rs.meta.validate(schema)
    assert jsonschema_rs.is_valid(schema, target) is valid


def test_the_example_of_the_schema_loads(schema: dict[str, Any]) -> None:
    (example,) = schema["examples"]
    assert jsonschema_rs.is_valid(schema, example)
    text = orjson.dumps(example).decode()
    assert targets.loads(text, "f.json", factory, {"AGENT_TOKEN": "t"}.get).params["headers"] == {
        "Authorization": "Bearer t"
    }


@given(
    data=st.binary(max_size=60)
    | st.lists(
        st.sampled_from(
            ["channel: ", "http", "\n", "params: ", "{", "}", "url: ", "${TOKEN}", "${", "1", ":", "http://a", ","]
        ),
        max_size=12,
    ).map(lambda pieces: "".join(pieces).encode())
)
@settings(max_examples=300)
def test_any_file_is_a_target_or_an_input_error(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(data)
    with suppress(InputError):
        load(str(path))
