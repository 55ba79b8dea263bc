import os
import traceback
from fractions import Fraction
from pathlib import Path

import pytest

from agenteval.domain.errors import ConfigError
from agenteval.domain.ports import Role
from agenteval.settings import FILE, ModelSettings, Settings, load, sources, unknown

JUDGE = {"AGENTEVAL_JUDGE_BASE_URL": "https://api.example/v1", "AGENTEVAL_JUDGE_MODEL": "judge-1"}


def judge(environ: dict[str, str], directory: Path = Path("/nowhere")) -> ModelSettings:
    model = load({**JUDGE, **environ}, directory).judge
    assert model is not None
    return model


def refusal(environ: dict[str, str], directory: Path = Path("/nowhere")) -> str:
    with pytest.raises(ConfigError) as caught:
        load(environ, directory)
    assert "sk-123" not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


def test_nothing_set_is_a_usable_state(tmp_path: Path) -> None:
    settings = load({}, tmp_path)
    assert settings == Settings()
    assert settings.database_url == ".agenteval/agenteval.db"
    assert [settings.model(role) for role in Role] == [None, None, None]


def test_a_model_from_the_environment() -> None:
    model = judge(
        {
            "AGENTEVAL_JUDGE_API_KEY": "sk-123",
            "AGENTEVAL_JUDGE_TIMEOUT_S": "2.5",
            "AGENTEVAL_JUDGE_SEED": "7",
            "AGENTEVAL_JUDGE_STRUCTURED": "tool",
            "AGENTEVAL_JUDGE_HEADERS": "X-Org=us, X-Team = qa",
        }
    )
    assert (model.base_url, model.model, model.timeout_s, model.seed) == ("https://api.example/v1", "judge-1", 2.5, 7)
    assert (model.structured, model.temperature) == ("tool", 0.0)
    assert model.api_key is not None
    assert model.api_key.get_secret_value() == "sk-123"
    assert {name: value.get_secret_value() for name, value in model.headers.items()} == {"X-Org": "us", "X-Team": "qa"}


def test_the_environment_goes_before_the_file_field_by_field(tmp_path: Path) -> None:
    (tmp_path / "agenteval.toml").write_text(
        """
        database_url = "runs.db"
        allowed_targets = ["10.0.0.0/8"]
        [judge]
        base_url = "http://localhost:11434/v1/"
        model = "千问"
        input_price = 0.15
        [judge.headers]
        X-Org = "us"
        [embedding]
        base_url = "http://localhost:11434/v1"
        model = "bge-m3"
        """,
        encoding="utf-8",
    )
    settings = load({"AGENTEVAL_JUDGE_MODEL": "judge-1", "AGENTEVAL_DATABASE_URL": ""}, tmp_path)
    assert settings.database_url == "runs.db"
    assert settings.allowed_targets == ("10.0.0.0/8",)
    assert settings.judge is not None
    assert (settings.judge.model, settings.judge.base_url) == ("judge-1", "http://localhost:11434/v1")
    assert settings.embedding is not None
    assert settings.moderation is None


def test_another_file_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text('database_url = "other.db"')
    assert load({"AGENTEVAL_CONFIG": "other.toml"}, tmp_path).database_url == "other.db"


@pytest.mark.parametrize("written", ["0.15", "0.150", "1.5e-1"])
def test_prices_are_exact(written: str) -> None:
    assert judge({"AGENTEVAL_JUDGE_INPUT_PRICE": written}).input_price == Fraction(15, 100)


def test_allowed_targets_are_separated_by_commas() -> None:
    assert load({"AGENTEVAL_ALLOWED_TARGETS": "localhost:8000, 10.0.0.0/8,"}).allowed_targets == (
        "localhost:8000",
        "10.0.0.0/8",
    )


@pytest.mark.parametrize(
    ("key", "named"),
    [
        ("“sk-123”", "U+201C"),
        ("sk-123\n", "U+000A"),
        ("sk-123\r\n", "U+000D"),
        ("ｓk-123", "U+FF53"),
        ("sk-\u200b123", "U+200B"),
        ("sk-1\t23", "U+0009"),
        (" sk-123", "space"),
        ('"sk-123"', "quotation mark"),
    ],
)
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(key: str, named: str) -> None:
    message = refusal({**JUDGE, "AGENTEVAL_JUDGE_API_KEY": key})
    assert message.startswith("AGENTEVAL_JUDGE_API_KEY: ")
    assert named in message
    assert "123" not in message


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("BASE_URL", "api.example/v1", "http:// or https://"),
        ("BASE_URL", "ftp://api.example", "http:// or https://"),
        ("BASE_URL", "http://127.0.0.1:99999/v1", "host and port"),
        ("SEED", "99999999999999999999", "less than or equal to"),
        ("MAX_CONCURRENCY", "1000000000", "less than or equal to 1000"),
        ("REQUESTS_PER_MINUTE", "1e-300", "greater than or equal to"),
        ("BASE_URL", "https://me:secret@api.example", "without user, password"),
        ("BASE_URL", "https://api.example/v1?key=secret", "query"),
        ("BASE_URL", "https://api.example/v1/chat/completions", "before /chat/completions"),
        ("TEMPERATURE", "-1", "greater than or equal to 0"),
        ("TEMPERATURE", "warm", "number"),
        ("TIMEOUT_S", "0", "greater than 0"),
        ("TIMEOUT_S", "inf", "finite"),
        ("MAX_CONCURRENCY", "1.5", "integer"),
        ("CONTEXT_TOKENS", "-8", "greater than 0"),
        ("REQUESTS_PER_MINUTE", "nan", "finite"),
        ("INPUT_PRICE", "-1", "greater than or equal to 0"),
        ("INPUT_PRICE", "free", "must be a finite number, not free"),
        ("STRUCTURED", "jsonschema", "'json_schema'"),
        ("HEADERS", "X-Org", "Name=value"),
        ("HEADERS", "X Org=1", "pattern"),
        ("HEADERS", "X-Org=我们", "U+6211"),
        ("MODLE", "judge-1", "did you mean 'model'?"),
    ],
)
def test_a_bad_value_is_one_message_that_names_its_variable(name: str, value: str, said: str) -> None:
    message = refusal({**JUDGE, f"AGENTEVAL_JUDGE_{name}": value})
    assert message.startswith(f"AGENTEVAL_JUDGE_{name}: ")
    assert said in message
    assert "secret" not in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('databse_url = "x"', "agenteval.toml, databse_url: is no setting (did you mean 'database_url'?)"),
        ('[jugde]\nmodel = "x"', "agenteval.toml, jugde: is no setting (did you mean 'judge'?)"),
        (
            '[judge]\nbase_url = "http://x"\nmodel = "m"\nseeds = 1',
            "agenteval.toml, judge.seeds: is no setting (did you mean 'seed'?)",
        ),
        ("judge = 3", "agenteval.toml, judge: must be an object"),
        ("allowed_targets = 3", "agenteval.toml, allowed_targets: must be a list"),
        ('[judge]\nbase_url = "http://x"\nmodel = 3', "agenteval.toml, judge.model: "),
        ("database_url = ", "agenteval.toml: is not TOML"),
        (
            '[judge]\nbase_url = "http://x"\nmodel = "m"\nheaders = {X = "é"}',
            "agenteval.toml, judge.headers.X: contains",
        ),
    ],
)
def test_a_bad_file_names_its_key(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "agenteval.toml").write_text(text, encoding="utf-8")
    assert said in refusal({}, tmp_path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    assert "missing.toml: cannot be read" in refusal({"AGENTEVAL_CONFIG": "missing.toml"}, tmp_path)
    (tmp_path / "agenteval.toml").write_bytes("database_url = '数据'".encode("gb18030"))
    assert "agenteval.toml: is not UTF-8" in refusal({}, tmp_path)


@pytest.mark.parametrize("given", ["BASE_URL", "MODEL", "API_KEY"])
def test_half_a_model_is_an_error_and_names_what_is_missing(given: str) -> None:
    values = {"BASE_URL": "http://x", "MODEL": "m", "API_KEY": "sk-123"}
    message = refusal({f"AGENTEVAL_EMBEDDING_{given}": values[given]})
    for missing in {"BASE_URL", "MODEL"} - {given}:
        assert f"AGENTEVAL_EMBEDDING_{missing}: is not set (the embedding model needs" in message


def test_all_faults_are_told_at_once() -> None:
    message = refusal({**JUDGE, "AGENTEVAL_JUDGE_SEED": "x", "AGENTEVAL_JUDGE_TIMEOUT_S": "-1"})
    assert [line.partition(":")[0] for line in message.splitlines()] == [
        "AGENTEVAL_JUDGE_SEED",
        "AGENTEVAL_JUDGE_TIMEOUT_S",
    ]


def test_variables_of_others_are_left_alone() -> None:
    assert (
        load({"AGENTEVAL_API_KEY": "ae_1", "AGENTEVAL_AUDIT": "1", "JUDGE_MODEL": "x"}, Path("/nowhere")) == Settings()
    )


def test_variables_that_only_look_like_settings_are_named_with_what_may_be_meant() -> None:
    environ = {**JUDGE, "AGENTEVAL_CONFIG": "a", "AGENTEVAL_DATABSE_URL": "x", "AGENTEVAL_ZZZ": "x", "JUDGE_MODLE": "x"}
    assert unknown(environ) == {"AGENTEVAL_DATABSE_URL": "AGENTEVAL_DATABASE_URL", "AGENTEVAL_ZZZ": None}


def test_a_settings_file_that_is_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "agenteval.toml")
    assert "agenteval.toml: is a pipe" in refusal({}, tmp_path)


def test_secrets_are_listed_for_redaction_and_never_shown() -> None:
    settings = load({**JUDGE, "AGENTEVAL_JUDGE_API_KEY": "sk-canary", "AGENTEVAL_JUDGE_HEADERS": "X-Key=canary-2"})
    assert set(settings.secrets) == {"sk-canary", "canary-2"}
    assert "canary" not in repr(settings)


def test_each_setting_that_is_given_tells_where_it_comes_from(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('database_url = "a.db"\n[judge]\nbase_url = "http://a/v1"\nmodel = "m"\n')
    found = sources({"AGENTEVAL_JUDGE_MODEL": "other", "AGENTEVAL_EMBEDDING_MODEL": "", "HOME": "/"}, tmp_path)
    assert found == {
        "database_url": str(tmp_path / FILE),
        "judge.base_url": str(tmp_path / FILE),
        "judge.model": "AGENTEVAL_JUDGE_MODEL",
    }
