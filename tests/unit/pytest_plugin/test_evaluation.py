"""The pytest plug-in, as the author of a test suite sees it."""

import json
import re
import subprocess
import sys

import pytest
import yaml

import agenteval.pytest_plugin.evaluation  # loaded once, not again in each suite
import agenteval.storage.migrations.upgrade  # noqa: F401 - likewise
from tests.fakes.pages import ROOT, blocks

pytest_plugins = ["pytester"]

BOOKING = {
    "name": "预约",
    "cases": [
        {
            "id": "book",
            "messages": ["我想预约维修", "我叫张三，电话是 13800138000"],
            "eval_rules": [
                {
                    "type": "task_completion",
                    "params": {
                        "mode": "hybrid",
                        "required_slots": [
                            {"name": "phone", "description": "电话", "type": "phone", "expected_value": "13800138000"}
                        ],
                        "required_steps": [
                            {"name": "confirm", "description": "确认", "critical": True, "keywords": ["已预约"]}
                        ],
                    },
                }
            ],
        },
        {
            "id": "hello",
            "messages": ["您好"],
            "eval_rules": [{"type": "keyword_match", "params": {"all_of": ["您好"]}}],
        },
        {
            "id": "polite",
            "messages": ["再见"],
            "eval_rules": [{"type": "llm_score", "params": {"criteria": "礼貌"}}],
        },
    ],
}
AGENT = """
def good(message):
    return "您好，13800138000，已预约。" if "电话" in message else f"您好：{message}，请问您的电话？"

def forgetful(message):
    return "请问您的电话？"
"""
NEVER = {"expectation": {"keywords_any": ["never said"]}}
# That the plug-in is loaded already is due to these tests.
INI = """
[pytest]
pythonpath = tests
asyncio_default_fixture_loop_scope = function
filterwarnings =
    error
    ignore::pytest.PytestAssertRewriteWarning
"""


class Suite:
    """A suite of a user, in a folder of its own."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        (pytester.path / "tests").mkdir()
        self.write("tests/booking.yaml", yaml.safe_dump(BOOKING, allow_unicode=True))
        self.write("tests/agents.py", AGENT)
        self.write("pytest.ini", INI)

    def write(self, name: str, text: str) -> None:
        (self.pytester.path / name).write_text(text, encoding="utf-8")

    def run(self, test: str, *options: str) -> pytest.RunResult:
        self.write("tests/test_agent.py", f"import pytest\nfrom agents import good, forgetful\n{test}")
        plugins = ("-p", "agenteval.pytest_plugin", "-p", "pytest_asyncio.plugin")
        return self.pytester.runpytest_inprocess(*plugins, "-p", "no:cacheprovider", *options)


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Suite:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name in ("JUDGE_BASE_URL", "JUDGE_MODEL", "JUDGE_API_KEY", "DATABASE_URL", "CONFIG"):
        monkeypatch.delenv(f"AGENTEVAL_{name}", raising=False)
    return Suite(pytester)


def test_a_good_agent_passes_and_what_came_out_can_be_looked_at(suite: Suite) -> None:
    suite.run(
        """
def test_booking(agenteval):
    result = agenteval.run("booking.yaml", good)
    result.case("book").assert_success()
    result.case("hello").assert_success()
    (attempt,) = result.case("book").attempts
    assert attempt.dialog[1].reply == "您好，13800138000，已预约。"
    assert attempt.results[0].score == 1
    assert (result.summary.success_rate.n, result.summary.success_rate.of) == (2, 3)
    assert len(result.cases) == 3
    with pytest.raises(KeyError, match="no case 'nope', but book, hello, polite"):
        result.case("nope")
"""
    ).assert_outcomes(passed=1)


def test_a_failure_says_which_slot_and_step_where_and_by_which_words(suite: Suite) -> None:
    ended = suite.run('def test_booking(agenteval): agenteval.run("booking.yaml", target=forgetful).assert_success()')
    ended.assert_outcomes(failed=1)
    shown = ended.stdout.str()
    for said in (
        "3 of 3 cases are no success",
        "phone",
        "仅陈述",
        "2     13800138000",
        "confirm",
        "未完成",
        "agenteval report",
    ):
        assert said in shown, said
    assert "evaluation.py" not in shown  # the traceback ends in the test


def first_line(ended: pytest.RunResult) -> str:
    """All that the summary at the end of a log has of a failure, when it is not cut to the width of a terminal."""
    (line,) = re.findall("^E +AssertionError: (.*)", ended.stdout.str(), re.MULTILINE)
    return str(line)


def test_the_first_line_names_the_first_failing_cases_and_what_is_missing(suite: Suite) -> None:
    said = first_line(
        suite.run('def test_booking(agenteval): agenteval.run("booking.yaml", target=forgetful).assert_success()')
    )
    assert said == (
        "3 of 3 cases are no success: book：task_completion（槽位 0/1 缺 phone · 步骤 0/1 缺 confirm）; "
        "hello：keyword_match（满足 0/1 项条件；缺少：您好。）; polite：llm_score（需要评审模型）"
    )
    many = {"name": "many", "cases": [{"id": f"c{n}", "messages": ["hi"], **NEVER} for n in range(5)]}
    suite.write("tests/many.yaml", json.dumps(many))
    said = first_line(suite.run('def test_many(agenteval): agenteval.run("many.yaml", good).assert_rate(0.5)'))
    assert said.startswith("success_rate is 0, wanted 0.5; measured in 5 of 5 attempts: c0: expectation.keywords_any (")
    assert said.endswith("; 2 more")


def test_repeats_are_told_apart_and_so_are_two_rates(suite: Suite) -> None:
    ended = suite.run(
        """
def test_repeats(agenteval):
    replies = iter(["您好", "", ""])
    result = agenteval.run("booking.yaml", lambda message: next(replies) if message == "您好" else "", repeats=3)
    result.case("hello").assert_rate(0.33334)
"""
    )
    said = first_line(ended)
    assert said.startswith("success_rate is 0.33333, wanted 0.33334; measured in 3 of 3 attempts: hello · 第 ")
    headings = [line for line in ended.outlines if re.fullmatch(r"E +hello · 第 \d 次重复", line)]
    assert len(set(headings)) == 2


def test_only_the_cases_that_are_no_success_are_told(suite: Suite) -> None:
    shown = suite.run('def test_booking(agenteval): agenteval.run("booking.yaml", good).assert_success()').stdout.str()
    assert "1 of 3 cases are no success" in shown
    assert "polite" in shown
    assert "已预约" not in shown


def test_what_was_not_judged_is_not_passed(suite: Suite) -> None:
    ended = suite.run(
        """
@pytest.fixture
def polite(agenteval): return agenteval.run("booking.yaml", good).case("polite")
def test_success(polite): polite.assert_success()
def test_rate(polite): polite.assert_rate(0)
def test_rate_when_some_may_be_unknown(polite): polite.assert_rate(0, max_unscored=1)
"""
    )
    ended.assert_outcomes(failed=3)
    assert "success_rate was not measured, wanted 0; measured in 0 of 1 attempts" in ended.stdout.str()
    assert "评审模型" in ended.stdout.str()


def test_a_rate_on_its_threshold_is_reached_exactly(suite: Suite) -> None:
    ended = suite.run(
        """
from agenteval.domain.scenario import Case, RuleSpec, Scenario
HELLO = Scenario("s", (Case("hello", ("您好",), (RuleSpec("keyword_match", {"all_of": ["您好"]}),)),))
@pytest.fixture
def result(agenteval):
    replies = iter(["您好", "您好", "", "您好", "", "", "您好", "您好", "您好", "您好"])
    return agenteval.run(HELLO, lambda message: next(replies), repeats=10)
def test_reached(result): result.assert_rate(at_least=0.7)
def test_as_text(result): result.assert_rate(at_least="7/10", measure="pass_rate")
def test_not_reached(result): result.assert_rate(at_least=0.71)
"""
    )
    ended.assert_outcomes(passed=2, failed=1)
    assert "success_rate is 0.7, wanted 0.71; measured in 10 of 10 attempts" in ended.stdout.str()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("result.assert_rate(90)", "ValueError: at_least must be within 0..1, not 90; 90 % is 0.9"),
        ("result.assert_rate(-1)", "ValueError: at_least must be within 0..1, not -1; 90 % is 0.9"),
        ('result.assert_rate("most")', "ValueError: at_least must be a finite number, not most"),
        (
            'result.assert_rate(0.5, measure="l2")',
            "ValueError: there is no measure 'l2', but intent_accuracy, avg_completion, success_rate, pass_rate",
        ),
        ('agenteval.run("booking.yaml", good, repeats=0)', "InputError: repeats must be within 1..1000, not 0"),
        ('agenteval.run("booking.yaml", good, concurrency=0)', "InputError: concurrency must be within 1..1000, not 0"),
    ],
)
def test_an_argument_that_cannot_be_is_told_in_a_line(suite: Suite, wrong: str, said: str) -> None:
    ended = suite.run(
        f"""
def test_one(agenteval):
    result = agenteval.run("booking.yaml", good)
    {wrong}
"""
    )
    ended.assert_outcomes(failed=1)
    (error,) = (line for line in ended.outlines if line.startswith("E  "))
    assert error.endswith(said)
    assert "evaluation.py" not in ended.stdout.str()


@pytest.mark.parametrize(
    "agent",
    [
        "def agent(message): return message",
        "def agent(message, session): return message if session.history == [] else None",
        "async def agent(message): return message",
        "async def agent(message, session): return {'reply': message}",
        "class Agent:\n    def __call__(self, message): return message\nagent = Agent()",
        "class Agent:\n    async def reply(self, message, session): return message\nagent = Agent().reply",
        "from functools import partial\nagent = partial(lambda prefix, message: message, '')",
        "agent = 'python:agents.py:echo'",
        "agent = 'target.yaml'",
    ],
)
def test_an_agent_is_any_function_or_target(suite: Suite, agent: str) -> None:
    suite.write("tests/target.yaml", "channel: python\nparams: {callable: 'agents.py:echo'}")
    suite.write("agents.py", "def echo(message, session): return message\ngood = forgetful = echo")
    suite.run(
        f"""
{agent}
def test_hello(agenteval): agenteval.run("booking.yaml", agent).case("hello").assert_success()
@pytest.mark.asyncio
async def test_in_a_loop(agenteval): agenteval.run("booking.yaml", agent).case("hello").assert_success()
@pytest.mark.asyncio
async def test_async(agenteval): (await agenteval.run_async("booking.yaml", agent)).case("hello").assert_success()
"""
    ).assert_outcomes(passed=3)


def test_an_async_agent_may_use_what_belongs_to_the_loop_of_the_test(suite: Suite) -> None:
    suite.run(
        """
import asyncio
@pytest.mark.asyncio
async def test_queue(agenteval):
    asked, loops = asyncio.Queue(), set()
    async def answering():
        while True:
            message, answer = await asked.get()
            answer.set_result(message)
    async def agent(message):
        loops.add(asyncio.get_running_loop())
        answer = asyncio.get_running_loop().create_future()
        await asked.put((message, answer))
        return await answer
    task = asyncio.create_task(answering())
    result = await agenteval.run_async("booking.yaml", agent)
    task.cancel()
    result.case("hello").assert_success()
    assert loops == {asyncio.get_running_loop()}
"""
    ).assert_outcomes(passed=1)


def test_each_case_may_be_a_test_of_its_own(suite: Suite) -> None:
    ended = suite.run(
        """
from agenteval.pytest_plugin import cases
@pytest.mark.parametrize("case", cases("booking.yaml"))
def test_case(agenteval, case): agenteval.run(case, good).assert_success()
""",
        "-v",
    )
    ended.assert_outcomes(passed=2, failed=1)
    ended.stdout.fnmatch_lines(["*test_case[[]book] PASSED*", "*test_case[[]polite] FAILED*"])


def test_an_agent_that_raises_fails_and_says_what_it_raised(suite: Suite) -> None:
    ended = suite.run(
        """
def broken(message): raise KeyError("order 17")
def test_booking(agenteval): agenteval.run("booking.yaml", broken).case("hello").assert_success()
"""
    )
    ended.assert_outcomes(failed=1)
    assert "KeyError" in ended.stdout.str()
    assert "order 17" in ended.stdout.str()


@pytest.mark.parametrize("signature", ["()", "(message, session, channel)", "(*, message)"])
def test_an_agent_that_takes_no_message_is_named_with_what_it_should_take(suite: Suite, signature: str) -> None:
    ended = suite.run(
        f"""
def answer{signature}: return "hi"
def test_booking(agenteval): agenteval.run("booking.yaml", answer)
"""
    )
    ended.assert_outcomes(failed=1)
    (error,) = (line for line in ended.outlines if line.startswith("E  "))
    assert f"the agent answer{signature} cannot be called with a message" in error
    assert error.endswith("(it must take (message) or (message, session))")
    assert "evaluation.py" not in ended.stdout.str()


def test_dialogs_are_held_one_by_one_unless_more_are_wanted(suite: Suite) -> None:
    suite.run(
        """
import threading
def most(agenteval, **more):
    now, most, lock = set(), [0], threading.Barrier(more.get("concurrency", 1))
    def agent(message, session):
        now.add(session.id)
        lock.wait(timeout=5)
        most[0] = max(most[0], len(now))
        lock.wait(timeout=5)
        now.discard(session.id)
        return message
    agenteval.run(HELLOS, agent, **more)
    return most[0]
from agenteval.domain.scenario import Case, Scenario
HELLOS = Scenario("s", tuple(Case(f"c{n}", ("您好",)) for n in range(4)))
def test_one(agenteval): assert most(agenteval) == 1
def test_two(agenteval): assert most(agenteval, concurrency=2) == 2
"""
    ).assert_outcomes(passed=2)


def test_runs_are_kept_in_the_folder_of_the_test_unless_a_database_is_named(suite: Suite) -> None:
    test = """
def test_one(agenteval, tmp_path):
    assert agenteval.run("booking.yaml", good).database == tmp_path / "agenteval.db"
    assert (tmp_path / "agenteval.db").exists()
"""
    suite.run(test).assert_outcomes(passed=1)
    assert not (suite.pytester.path / ".agenteval").exists()
    suite.write("pytest.ini", INI + "agenteval_database = kept/runs.db\n")
    suite.run('def test_one(agenteval): agenteval.run("booking.yaml", good)').assert_outcomes(passed=1)
    assert (suite.pytester.path / "kept" / "runs.db").exists()


def test_nothing_of_it_is_left_in_the_process(suite: Suite) -> None:
    suite.run(
        """
import asyncio, sys
def test_one(agenteval, capsys):
    path, stdout = sys.path[:], sys.stdout
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    def talkative(message):
        print("from the agent")
        return message
    agenteval.run("booking.yaml", talkative)
    assert (sys.path, sys.stdout is stdout, asyncio.get_event_loop_policy().get_event_loop()) == (path, True, loop)
    loop.close()
    assert capsys.readouterr() == ("", "from the agent\\n" * 4)
"""
    ).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('"nowhere.yaml", good', "nowhere.yaml: cannot be read"),
        ('"agents.py", good', "agents.py"),
        ('"booking.yaml", "nowhere.yaml"', "nowhere.yaml: cannot be read"),
        ('"booking.yaml", "http://127.0.0.1:9/"', "cannot connect"),
    ],
)
def test_what_cannot_be_run_is_an_error_that_says_why(suite: Suite, arguments: str, said: str) -> None:
    ended = suite.run(
        f"""
def test_one(agenteval): agenteval.run({arguments})
@pytest.mark.asyncio
async def test_async(agenteval): await agenteval.run_async({arguments})
"""
    )
    ended.assert_outcomes(failed=2)
    assert ended.stdout.str().count("E   agenteval.domain.errors") == 2
    assert said in ended.stdout.str()
    assert "evaluation.py" not in ended.stdout.str()


def test_what_an_author_should_look_at_is_a_warning(suite: Suite) -> None:
    suite.write("tests/bare.yaml", "{name: x, cases: [{messages: [a]}]}")
    ended = suite.run(
        """
def test_one(agenteval):
    with pytest.warns(UserWarning, match="bare.yaml: /cases/0.* has no rule and no expectation"):
        result = agenteval.run("bare.yaml", good)
    with pytest.raises(AssertionError, match="1 of 1 cases are no success"):
        result.assert_success()
"""
    )
    ended.assert_outcomes(passed=1)


def test_the_suites_of_the_guide_pass(suite: Suite) -> None:
    for block in blocks(ROOT / "docs" / "how-to" / "test-with-pytest.md"):
        if block.file:
            suite.write(f"tests/{block.file}", block.text)
    suite.run("").assert_outcomes(passed=7)


def test_pytest_starts_as_fast_as_without_it_and_nobody_else_needs_pytest() -> None:
    script = (
        "import sys, pytest\n"
        "before = set(sys.modules)\n"
        "import agenteval.pytest_plugin\n"
        "print(*sorted(name for name in set(sys.modules) - before if not name.startswith('agenteval')))"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "\n"
    script = "import sys, agenteval.cli.run, agenteval.bootstrap\nprint('pytest' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "False\n"
    )
