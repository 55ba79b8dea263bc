"""The worked example of a third party's rule is found by its entry point and passes its own tests."""

import subprocess
import sys
import tomllib
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "rule_plugin"
FIND_IT = """
import sys
sys.path[:0] = sys.argv[1:]
from agenteval.rules import RULES
from agenteval.plugins import parameters_schema
print(*parameters_schema(RULES.get("apology"))["properties"], *RULES.problems)
"""


def test_it_is_found_by_its_entry_point(tmp_path: Path) -> None:
    """As installed: the metadata that an installer writes, and the package beside it."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text("utf-8"))["project"]
    metadata = tmp_path / "agenteval_apology-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0.1.0\n")
    groups = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in named.items())
        for group, named in project["entry-points"].items()
    ]
    (metadata / "entry_points.txt").write_text("\n".join(groups))
    assert run("-c", FIND_IT, str(tmp_path), str(EXAMPLE / "src")) == "words\n"


def test_its_own_tests_pass() -> None:
    assert "passed" in run("-m", "pytest", "-q", "-p", "no:cacheprovider")


def run(*arguments: str) -> str:
    ended = subprocess.run([sys.executable, *arguments], cwd=EXAMPLE, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout
