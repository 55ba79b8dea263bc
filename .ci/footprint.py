"""Hold the core install to its budget; run by the interpreter of an environment that holds nothing but AgentEval.

The size is that of what the packages ship; the bytecode that an installer adds to it is printed, and not counted.
"""

import sys
from importlib.metadata import distributions
from pathlib import Path

MAX_PACKAGES = 40
MAX_MB = 90
FORBIDDEN = {"torch", "litellm", "langchain", "langchain-core"}
INSTALLERS = {"pip", "setuptools"}  # every environment starts with them

packages = {dist.name.lower(): dist for dist in distributions() if dist.name.lower() not in INSTALLERS}
shipped_mb = bytecode_mb = 0.0
for dist in packages.values():
    for file in dist.files or ():
        mb = Path(file.locate()).stat().st_size / 1e6
        if file.suffix == ".pyc":
            bytecode_mb += mb
        else:
            shipped_mb += mb

print(f"core install: {len(packages)} packages, {shipped_mb:.1f} MB, and {bytecode_mb:.1f} MB of bytecode")
faults = [f"{name} must not be installed" for name in sorted(FORBIDDEN & packages.keys())]
if len(packages) > MAX_PACKAGES:
    faults.append(f"{len(packages)} packages, the limit is {MAX_PACKAGES}: {' '.join(sorted(packages))}")
if shipped_mb > MAX_MB:
    faults.append(f"{shipped_mb:.1f} MB, the limit is {MAX_MB}")
sys.exit("\n".join(faults) or 0)
