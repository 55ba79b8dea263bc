"""The commands that need no agent and no model, within this process."""

import os
from collections.abc import AsyncIterator
from errno import ENOSPC
from pathlib import Path

import orjson
import pytest

from agenteval.cli import COMMANDS
from agenteval.domain.errors import InputError
from agenteval.rules import RULES
from tests.unit.cli.conftest import Call

SEED = {
    "turns": [
        {
            "input": "我想订一张明天去上海的高铁票，还要帮我查一下那边的酒店。",
            "actual_output": "没问题！已经为您查到明天去上海的高铁有 G101 和 G105。请问您要订哪一班？",
        },
        {"input": "订 G101 吧。", "actual_output": "好的，G101 高铁票已为您预订成功！祝您旅途愉快。"},
    ]
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_in_the_list_explains_itself(call: Call, name: str) -> None:
    ended = call(name, "--help")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"Usage: agenteval {name} ")
    assert "--json" in ended.out


def test_the_version_and_an_unknown_command(call: Call) -> None:
    assert call("--version").out.startswith("agenteval 0.")
    unknown = call("rn")
    assert (unknown.code, unknown.out) == (2, "")
    assert "rn" in unknown.err


# ---- init, validate, run ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_what_init_writes_is_valid_and_runs_as_it_is(call: Call, lang: str) -> None:
    began = call("init", "new/folder", "--lang", lang)
    assert began.out.splitlines() == [f"new/folder/{name}" for name in ("scenario.yaml", "target.yaml", "agent.py")]
    assert call("validate", "new/folder/scenario.yaml").err == ""
    command = began.err.partition("then: agenteval ")[2].split()
    run = call(*command, "--json", "--quiet")
    assert (run.code, run.err) == (0, "")
    (case,) = run.json["cases"]
    assert case["attempts"][0]["outcome"]["success_level"] == "success"


def test_programs_are_told_what_init_wrote(call: Call) -> None:
    assert call("init", "a", "--json").json == {"files": ["a/scenario.yaml", "a/target.yaml", "a/agent.py"]}


def test_init_overwrites_nothing(call: Call) -> None:
    Path("target.yaml").write_text("mine")
    ended = call("init")
    assert (ended.code, ended.out) == (2, "")
    assert "target.yaml" in ended.err
    assert [path.name for path in Path().iterdir()] == ["target.yaml"]


@pytest.fixture
def begun(call: Call) -> None:
    call("init")
    Path("several.yaml").write_text("name: x\ncases:\n- {messages: []}\n- {messages: [a], eval_rules: [{type: no}]}\n")
    Path("loose.yaml").write_text(
        "{name: x, partial_threshold: 0.7, cases: [{messages: [a], expectation: {reference: b}}]}"
    )
    Path("broken.yaml").write_text("name: [")
    os.mkfifo("pipe")
    Path("channel.yaml").write_text("{channel: htp, params: {url: 'http://a'}}")
    Path("variable.yaml").write_text("{channel: http, params: {url: 'http://a/${NOT_SET_ANYWHERE}'}}")


@pytest.mark.usefixtures("begun")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("run nothing.yaml -t target.yaml", "nothing.yaml"),
        ("run broken.yaml -t target.yaml", "broken.yaml"),
        ("run target.yaml -t target.yaml", "looks like a target file"),
        ("run scenario.yaml -t nothing.yaml", "nothing.yaml"),
        ("run scenario.yaml -t channel.yaml", "did you mean 'http'"),
        ("run scenario.yaml -t variable.yaml", "NOT_SET_ANYWHERE"),
        ("run scenario.yaml -t ftp://agent", "ftp://agent"),
        ("run scenario.yaml", "--target"),
        ("run", "--target"),
        ("run scenario.yaml -t target.yaml --success-threshold x", "success-threshold"),
        ("run scenario.yaml -t target.yaml --success-threshold 1.5", "1.5"),
        ("run scenario.yaml -t target.yaml --success-threshold 0.4", "0.4"),
        ("run loose.yaml -t target.yaml --success-threshold 0.6", "0.7"),
        ("run scenario.yaml -t target.yaml --repeats 0", "repeats"),
        ("run scenario.yaml -t target.yaml --repeats 1000000000000", "repeats"),
        ("run scenario.yaml -t target.yaml --seed 99999999999999999999", "seed"),
        ("runs --limit 99999999999999999999", "limit"),
        (f"validate {'x' * 400}", "File name too long"),
        ("run scenario.yaml -t target.yaml --sample -1", "sample"),
        ("run scenario.yaml -t target.yaml --timeout 0", "timeout"),
        ("run scenario.yaml -t target.yaml --timeout nan", "timeout"),
        ("run scenario.yaml -t target.yaml --timeout 1e300", "timeout"),
        ("run scenario.yaml -t target.yaml --case-timeout inf", "case-timeout"),
        ("run scenario.yaml -t target.yaml --case-timeout nan", "case-timeout"),
        ("run scenario.yaml -t target.yaml --rule-pass-threshold 1e-400", "1e-400"),
        ("validate pipe", "pipe: is a pipe or a device, not a file (give /dev/stdin, and < pipe)"),
        ("run scenario.yaml -t pipe", "pipe: is a pipe or a device"),
        ("evaluate keyword_match pipe", "pipe: is a pipe or a device"),
        ("evaluate keyword_match scenario.yaml --params @pipe", "pipe: is a pipe or a device"),
        ("run scenario.yaml -t target.yaml --html scenario.yaml/x.html", "scenario.yaml/x.html"),
        ("run --resume last --repeats 3", "repeats"),
        ("run --resume last scenario.yaml", "scenarios"),
        ("validate several.yaml", "/cases/0/messages"),
        ("evaluate keyword_match nothing.json", "nothing.json"),
        ("evaluate keyword_match scenario.yaml", "scenario.yaml"),
        ("schema keyword_mach", "did you mean 'keyword_match'"),
        ("rules keyword_mach", "did you mean 'keyword_match'"),
        ("report --format pdf", "pdf"),
        ("export nosuchrun", ".agenteval/agenteval.db: there is no database"),
        ("export --json", "--output"),
        ("export -o scenario.yaml/run.jsonl", "scenario.yaml/run.jsonl"),
        ("import nothing.jsonl", "nothing.jsonl: cannot be used"),
        ("import scenario.yaml", "scenario.yaml: is no exported run"),
    ],
)
def test_bad_input_is_said_with_its_place_and_nothing_is_begun(call: Call, arguments: str, said: str) -> None:
    ended = call(*arguments.split())
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert "Traceback" not in ended.err
    assert not Path(".agenteval/agenteval.db").exists() or call("runs", "--json").json == []


@pytest.mark.usefixtures("begun")
def test_each_of_several_problems_has_a_line(call: Call) -> None:
    lines = call("validate", "several.yaml", "broken.yaml").err.splitlines()
    assert [line.split(":")[0] for line in lines] == ["error"] * len(lines)
    for place in ("/cases/0/messages", "/cases/1/eval_rules/0/type", "broken.yaml"):
        assert sum(place in line for line in lines) == 1


def test_warnings_are_shown_and_do_not_fail(call: Call) -> None:
    Path("s.yaml").write_text("{name: 空, cases: [{messages: [你好]}]}")
    ended = call("validate", "s.yaml")
    assert (ended.code, ended.out) == (0, "ok: 空, cases: 1\n")
    assert ended.err.startswith("warning: s.yaml: /cases/0")
    (scenario,) = call("validate", "s.yaml", "--json").json
    assert (scenario["name"], scenario["cases"], len(scenario["warnings"])) == ("空", 1, 1)


@pytest.mark.usefixtures("begun")
def test_runs_are_listed_and_shown_in_every_format(call: Call) -> None:
    Path(".agenteval").mkdir()
    Path(".agenteval/agenteval.db").touch()
    assert call("runs").err == "there is no run yet; `agenteval run` makes one\n"
    assert call("report").code == 2
    call("run", "scenario.yaml", "-t", "target.yaml", "--name", "第一次", "--repeats", "2", "--quiet")
    call("run", "scenario.yaml", "-t", "target.yaml", "--quiet", "--concurrency", "7", "--timeout", "9.5")
    newest, oldest = call("runs", "--json").json
    assert (oldest["name"], oldest["wanted"], oldest["finished"], oldest["passed"]) == ("第一次", 2, 2, 2)
    assert oldest["levels"] == {"success": 2}
    assert "第一次" in call("runs").out
    assert len(call("runs", "--json", "--limit", "1").json) == 1
    assert call("report", "--json").json["run"]["id"] == newest["id"]
    assert call("report", "--json").json["run"]["config"]["target"]["max_concurrency"] == 7
    assert call("report", oldest["id"], "--lang", "zh").out.startswith("第一次\n")
    starts = {
        "markdown": "# ",
        "junit": "<?xml",
        "html": "<!",
        "json": "{",
        "jsonl": '{"run_id"',
        "csv": "\ufeffrun_id,",
    }
    for form, start in starts.items():
        assert call("report", "--format", form).out.lower().startswith(start)
        assert call("report", "--format", form, "-o", f"out/{form}").out == ""
        assert Path(f"out/{form}").read_bytes().decode() == call("report", "--format", form).out
    assert call("report", "-o", "out/terminal").code == 0
    assert Path("out/terminal").read_text(encoding="utf-8") == call("report").out


@pytest.mark.usefixtures("begun")
def test_resuming_what_is_complete_runs_nothing_and_reports(call: Call) -> None:
    run = call("run", "scenario.yaml", "-t", "target.yaml", "--json", "--quiet")
    assert call("run", "--resume", "last", "--json", "--quiet").json["cases"] == run.json["cases"]
    assert call("run", "--resume", "nosuchrun").code == 2


@pytest.mark.usefixtures("begun")
def test_the_policy_of_the_command_line_is_that_of_cases_without_one(call: Call) -> None:
    options = ["--verdict-policy", "strict", "--rule-logic", "weighted", "--rule-pass-threshold", "0.65"]
    options += ["--success-threshold", "0.9", "--partial-threshold", "3/10"]
    run = call("run", "scenario.yaml", "-t", "target.yaml", "--json", "--quiet", *options)
    assert run.json["cases"][0]["attempts"][0]["outcome"]["policy"] == {
        "rule_logic": "weighted",
        "verdict_policy": "strict",
        "rule_pass_threshold": 0.65,
        "success_threshold": 0.9,
        "partial_threshold": 0.3,
    }


@pytest.mark.usefixtures("begun")
def test_a_report_that_cannot_be_written_leaves_the_old_one_and_the_run_is_said_to_be_stored(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object) -> AsyncIterator[str]:
        yield "<!doctype html>"
        raise OSError(ENOSPC, "No space left on device")

    Path("old.html").write_text("old")
    monkeypatch.setattr("agenteval.reporting.html.html_report", full)
    run = call("run", "scenario.yaml", "-t", "target.yaml", "--html", "old.html", "--junit", "new.xml", "--json", "-q")
    (stored,) = call("runs", "--json").json
    assert (run.code, run.json["run"]["id"]) == (3, stored["id"])
    (error,) = run.err.splitlines()
    assert error.startswith("error: old.html: cannot be written: No space left on device (")
    assert f"run {stored['id']} is stored" in error
    assert f"agenteval report {stored['id']} -f FORMAT -o FILE" in error
    assert Path("old.html").read_text() == "old"
    assert Path("new.xml").read_text(encoding="utf-8").startswith("<?xml")
    assert not list(Path().glob(".*.tmp"))


@pytest.mark.usefixtures("begun")
def test_a_report_takes_the_place_of_another_with_its_mode_and_behind_a_link(call: Call) -> None:
    call("run", "scenario.yaml", "-t", "target.yaml", "-q")
    Path("real").mkdir()
    Path("real/report.md").write_text("old")
    Path("real/report.md").chmod(0o640)
    Path("link.md").symlink_to("real/report.md")
    assert call("report", "-f", "markdown", "-o", "link.md").code == 0
    assert Path("link.md").is_symlink()
    assert Path("real/report.md").read_text(encoding="utf-8").startswith("# ")
    assert Path("real/report.md").stat().st_mode & 0o777 == 0o640


# ---- evaluate --------------------------------------------------------------------------------------------------------


@pytest.fixture
def recorded(call: Call) -> None:
    Path("seed.json").write_bytes(orjson.dumps(SEED))
    Path("two.jsonl").write_bytes(
        b"".join(
            orjson.dumps({"id": id_, **SEED, "turns": SEED["turns"][:n]}) + b"\n" for id_, n in (("a", 2), ("b", 1))
        )
    )
    Path("p.json").write_text('{"all_of": ["预订成功"]}', encoding="utf-8")


@pytest.mark.usefixtures("recorded")
def test_completeness_without_a_model_is_null_with_the_reason_and_3(call: Call) -> None:
    ended = call("evaluate", "conversation_completeness", "seed.json")
    assert ended.code == 3
    assert ended.json["score"] is None
    assert "需要评审模型" in ended.json["reason"]
    assert "not scored: " in ended.err


@pytest.mark.usefixtures("recorded")
def test_one_dialog_is_one_object_and_several_are_lines(call: Call) -> None:
    one = call("evaluate", "keyword_match", "seed.json", "--params", "@p.json", "--json")
    assert (one.code, one.json["score"], one.json["passed"]) == (0, 1.0, True)
    lines = call("evaluate", "keyword_match", "two.jsonl", "--params", "@p.json", "--json").out.splitlines()
    assert [(line["id"], line["score"]) for line in map(orjson.loads, lines)] == [("a", 1.0), ("b", 0.0)]
    chosen = call("evaluate", "keyword_match", "two.jsonl", "--params", "@p.json", "--json", "--case", "b")
    assert (chosen.json["id"], chosen.json["score"]) == ("b", 0.0)
    assert "id" not in one.json  # the file gives none
    Path("t.csv").write_text("input,output\na,预订成功\n", encoding="utf-8")
    assert "id" not in call("evaluate", "keyword_match", "t.csv", "--params", "@p.json", "--json").json


@pytest.mark.usefixtures("recorded")
def test_people_read_of_each_dialog_what_came_out_and_why(call: Call) -> None:
    ended = call("evaluate", "keyword_match", "two.jsonl", "--params", "@p.json")
    assert ended.code == 0
    assert [line for line in ended.out.splitlines() if not line.startswith(" ")] == ["a", "b"]
    assert "keyword_match" in ended.out


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["keyword_mach", "seed.json"], "did you mean 'keyword_match'"),
        (["keyword_match", "seed.json", "--params", "{"], "--params"),
        (["keyword_match", "seed.json", "--params", "[]"], "JSON object"),
        (["keyword_match", "seed.json", "--params", '{"all_of": "a"}'], "/params/all_of: must be a list"),
        (["json_schema", "seed.json", "--params", '{"schema": {"$ref": "#"}}'], "such as '#/$defs/name'"),
        (
            ["keyword_match", "seed.json", "--params", '{"all_of": ["a"], "all_of": ["b"]}'],
            "--params: /all_of (line 1): this key stands here twice",
        ),
        (["llm_score", "seed.json", "--params", '{"min_score": NaN}'], "/min_score (line 1): NaN is no number"),
        (["keyword_match", "seed.json", "--params", '{"al_of": []}'], "/params/al_of"),
        (["keyword_match", "seed.json", "--params", "@none.json"], "none.json"),
        (["keyword_match", "seed.json", "--params", "@seed.json"], "/params/turns"),
        (["keyword_match", "seed.json", "--params", "@p.json", "--case", "c"], "there is no dialog c"),
    ],
)
def test_what_cannot_be_evaluated_is_said(call: Call, arguments: list[str], said: str) -> None:
    ended = call("evaluate", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


# ---- schema, rules, doctor -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["scenario", "target", "report", "keyword_match", "http"])
def test_schemas_are_objects(call: Call, name: str) -> None:
    assert call("schema", name).json["type"] == "object"
    assert call("schema", name, "--json").out == call("schema", name).out


def test_rules_are_described(call: Call) -> None:
    assert [rule["name"] for rule in call("rules", "--json").json] == RULES.names
    assert all(name in call("rules").out for name in RULES.names)
    rule = call("rules", "llm_score", "--json").json
    assert (rule["decided_by"], rule["required"], rule["layer"]) == ("code, judge model", ["criteria"], None)
    assert "min_score" in call("rules", "llm_score").out


def test_the_doctor_finds_nothing_wrong_with_an_empty_folder(call: Call) -> None:
    ended = call("doctor", "--json")
    assert (ended.code, ended.json["problems"]) == (0, [])
    assert ended.json["models"]["judge"] == "not set"
    assert ended.json["settings"] == {"database_url": ".agenteval/agenteval.db (default)"}
    assert "encoding: utf-8" in call("doctor").out.lower()


def test_a_misspelt_variable_is_said_where_settings_are_used(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTEVAL_JUGDE_MODEL", "judge-1")
    monkeypatch.setenv("AGENTEVAL_QQQ", "1")
    warning = "warning: AGENTEVAL_JUGDE_MODEL is no setting; is AGENTEVAL_JUDGE_MODEL meant?"
    call("init")
    assert warning in call("run", "scenario.yaml", "-t", "target.yaml", "-q").err.splitlines()
    found = call("doctor")
    assert warning in found.err.splitlines()
    assert "  AGENTEVAL_QQQ: is no setting\n" in found.out


def test_the_doctor_says_where_a_setting_comes_from_and_shows_no_secret(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("agenteval.toml").write_text(
        '[judge]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\nheaders = {X = "h1dden"}'
    )
    monkeypatch.setenv("AGENTEVAL_JUDGE_API_KEY", "sk-hidden-too")
    ended = call("doctor")
    assert ended.code == 3
    assert "judge.model: m (agenteval.toml)" in ended.out
    assert "AGENTEVAL_JUDGE_API_KEY" in ended.out
    assert "problem: judge model m at http://127.0.0.1:9/v1" in ended.err
    assert not any(secret in ended.out + ended.err for secret in ("h1dden", "sk-hidden-too"))


def test_the_doctor_looks_at_the_rest_when_the_settings_are_wrong(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTEVAL_JUDGE_MODLE", "m")
    ended = call("doctor", "--json")
    assert ended.code == 2
    assert "http" in ended.json["plug-ins"]["channels"]
    assert any("AGENTEVAL_JUDGE_MODLE" in problem for problem in ended.json["problems"])


# ---- what goes wrong -------------------------------------------------------------------------------------------------


def test_a_fault_of_the_program_itself_is_one_line_and_3(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("sk-hidden")

    monkeypatch.setattr("agenteval.datasets.scenarios.load_all", broken)
    ended = call("validate", "x.yaml")
    assert (ended.code, ended.out, len(ended.err.splitlines())) == (3, "", 1)
    debugged = call("validate", "x.yaml", "--debug")
    assert (debugged.code, "Traceback" in debugged.err) == (3, True)


def test_secrets_are_in_no_message_and_no_traceback(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTEVAL_JUDGE_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("AGENTEVAL_JUDGE_MODEL", "m")
    monkeypatch.setenv("AGENTEVAL_JUDGE_API_KEY", "sk-hidden-key")

    def leaking(*_: object) -> None:
        raise InputError("Authorization: Bearer sk-hidden-key\x1b[31m", where="http://a/?key=sk-hidden-key")

    Path(".agenteval").mkdir()
    Path(".agenteval/agenteval.db").touch()
    monkeypatch.setattr("agenteval.storage.runs.listed", leaking)
    ended = call("--debug", "runs")
    assert ended.code == 2
    assert "Traceback" in ended.err
    assert "sk-hidden-key" not in ended.err
    assert "\x1b" not in ended.err


@pytest.mark.parametrize(
    "command", ["runs", "report", "compare a b", "trend bot", "review --json", "export", "rescore", "run --resume last"]
)
def test_who_only_reads_makes_no_database(call: Call, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("AGENTEVAL_DATABASE_URL", "nowhere/a.db")
    ended = call(*command.split())
    assert (ended.code, ended.out) == (2, "")
    assert "nowhere/a.db: there is no database" in ended.err
    assert not Path("nowhere").exists()


@pytest.mark.usefixtures("begun")
@pytest.mark.parametrize(
    ("outputs", "why"),
    [
        ("--html h.db", "it is the database"),
        ("--html h.db-wal", "it is the database"),
        ("--json-out ./h.db", "it is the database"),
        ("--html scenario.yaml", "this command reads it"),
        ("--html link.yaml", "this command reads it"),
        ("--junit target.yaml", "this command reads it"),
        ("--markdown agent.py", "this command reads it"),
        ("--html a.out --json-out ./a.out", "another output goes there"),
    ],
)
def test_no_report_takes_the_place_of_what_is_needed(
    call: Call, monkeypatch: pytest.MonkeyPatch, outputs: str, why: str
) -> None:
    monkeypatch.setenv("AGENTEVAL_DATABASE_URL", "sqlite:///h.db")
    Path("link.yaml").symlink_to("scenario.yaml")
    before = {path: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    ended = call("run", "scenario.yaml", "-t", "target.yaml", *outputs.split())
    assert (ended.code, ended.out) == (2, "")
    assert f"cannot be written: {why}" in ended.err
    assert {path: path.read_bytes() for path in before} == before
    assert not Path("h.db").exists()


@pytest.mark.usefixtures("begun")
def test_a_report_of_a_stored_run_spares_the_database(call: Call) -> None:
    call("run", "scenario.yaml", "-t", "target.yaml", "--quiet")
    database = Path(".agenteval/agenteval.db")
    for command in ("report -f html -o", "export -o", "review --out"):
        ended = call(*command.split(), str(database))
        assert (ended.code, "it is the database" in ended.err) == (2, True)
    assert database.read_bytes().startswith(b"SQLite format 3")


def test_dialogs_that_are_judged_are_not_written_over(call: Call) -> None:
    Path("d.jsonl").write_text('{"turns": [{"input": "你好", "actual_output": "您好"}]}')
    ended = call("evaluate", "keyword_match", "d.jsonl", "--params", '{"all_of": ["您"]}', "--batch-out", "d.jsonl")
    assert (ended.code, "d.jsonl: cannot be written: this command reads it" in ended.err) == (2, True)


@pytest.mark.parametrize(("url", "code"), [("damaged.db", 3), ("folder", 3), ("postgresql://host/name", 2)])
def test_a_database_that_cannot_be_used_is_one_message(
    call: Call, monkeypatch: pytest.MonkeyPatch, url: str, code: int
) -> None:
    Path("damaged.db").write_bytes(b"no database" * 1_000)
    Path("folder").mkdir()
    monkeypatch.setenv("AGENTEVAL_DATABASE_URL", url)
    ended = call("runs")
    assert (ended.code, ended.out, len(ended.err.splitlines())) == (code, "", 1)
    assert url in ended.err


@pytest.mark.usefixtures("begun")
def test_a_run_that_fails_leaves_no_report(call: Call) -> None:
    ended = call("run", "scenario.yaml", "-t", "http://127.0.0.1:9/", "--html", "x.html", "--report-dir", "out")
    assert ended.code == 3
    assert not Path("x.html").exists()
    assert list(Path("out").iterdir()) == []
