"""Hold the core install to its budget; run by the interpreter of an environment that holds nothing but AgentEval."""

import sys
from importlib.metadata import distributions
from pathlib import Path
from sysconfig import get_path

MAX_PACKAGES = 40
MAX_MB = 90
FORBIDDEN = {"torch", "litellm", "langchain", "langchain-core"}
INSTALLERS = {"pip", "setuptools"}  # every environment starts with them

packages = {dist.name.lower(): dist for dist in distributions() if dist.name.lower() not in INSTALLERS}
installer_files = {Path(get_path("purelib")) / name for name in (*INSTALLERS, "pkg_resources", "_distutils_hack")}
size_mb = sum(
    file.stat().st_size
    for file in Path(get_path("purelib")).rglob("*")
    if file.is_file() and installer_files.isdisjoint(file.parents)
) / 1e6

print(f"core install: {len(packages)} packages, {size_mb:.1f} MB")
faults = [f"{name} must not be installed" for name in sorted(FORBIDDEN & packages.keys())]
if len(packages) > MAX_PACKAGES:
    faults.append(f"{len(packages)} packages, the limit is {MAX_PACKAGES}: {' '.join(sorted(packages))}")
if size_mb > MAX_MB:
    faults.append(f"{size_mb:.1f} MB, the limit is {MAX_MB}")
sys.exit("\n".join(faults) or 0)
