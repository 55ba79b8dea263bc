"""What a user installs: the locks pin all that is declared, by hash and without naming where it came from."""

import importlib
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import packages_distributions
from pathlib import Path

import grimp
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RUNTIME = PROJECT["project"]["dependencies"]
DEV = [*RUNTIME, *PROJECT["dependency-groups"]["dev"]]


def pins(lock: str) -> Iterator[tuple[Requirement, int]]:
    """Each pinned requirement of a lock, and how many hashes it carries."""
    for entry in re.split(r"\n(?=\w)", (ROOT / lock).read_text(encoding="utf-8")):
        yield Requirement(entry.partition("\\")[0]), entry.count("--hash=sha256:")


def versions(lock: str) -> Mapping[str, str]:
    return {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin, _ in pins(lock)}


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_every_pin_is_one_version_with_its_hashes(lock: str) -> None:
    assert all(str(pin.specifier).startswith("==") and hashes > 0 for pin, hashes in pins(lock))


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_a_lock_names_no_host_and_no_path(lock: str) -> None:
    assert not re.findall(
        r"\S*(?:://|--index|--find-links|--trusted-host| @ |(?<!\w)/\w)\S*", (ROOT / lock).read_text()
    )


@pytest.mark.parametrize(("lock", "declared"), [("requirements.lock", RUNTIME), ("requirements-dev.lock", DEV)])
def test_a_lock_satisfies_what_is_declared(lock: str, declared: list[str]) -> None:
    pinned = versions(lock)
    missing = [
        text
        for text, wanted in ((text, Requirement(text)) for text in declared)
        if not wanted.specifier.contains(pinned.get(canonicalize_name(wanted.name), "0"))
    ]
    assert not missing, "run make lock"


def test_development_has_the_versions_that_users_have() -> None:
    assert versions("requirements.lock").items() <= versions("requirements-dev.lock").items()


def test_pytest_finds_the_plugin_where_it_is_declared() -> None:
    plugin = importlib.import_module(PROJECT["project"]["entry-points"]["pytest11"]["agenteval"])
    assert callable(plugin.pytest_addoption)


def test_the_core_stays_small() -> None:
    names = versions("requirements.lock").keys()
    assert len(names) <= 40
    assert not {name for name in names if name.startswith(("torch", "litellm", "langchain", "nvidia"))}


def test_every_imported_package_is_declared_not_borrowed() -> None:
    """A dependency of a dependency may go away with its next release."""
    modules = grimp.build_graph("agenteval", include_external_packages=True, cache_dir=None).modules
    imported = {module for module in modules if "." not in module} - {"agenteval"} - sys.stdlib_module_names
    distributions = packages_distributions()
    declared = {canonicalize_name(Requirement(text).name) for text in RUNTIME}
    optional = {"pytest"}  # the plug-in for users' suites is loaded by pytest itself
    assert {canonicalize_name(distributions[module][0]) for module in imported} <= declared | optional
