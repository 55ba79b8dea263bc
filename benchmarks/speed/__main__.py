"""Speed beside a floor: `python -m benchmarks.speed [--json] [--quick] [--runs 3]`.

Floor and product take turns on the same fake model and the same conversations, each time in a process of its own on one
core, and what is printed is the median. `--quick` measures few conversations: whether it works, not how fast it is.
"""

import argparse
import resource
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeAlias, TypeVar

import orjson

from benchmarks.speed.conversations import conversation
from benchmarks.speed.figures import Figure, lines, report
from benchmarks.speed.server import ROOT, Behaviour, behave, counted, fake_model

COMPLETENESS, KEYWORDS = "conversation_completeness", "keyword_match"
LATENCY_MS, CONCURRENCY = 200, 100
FAULTY_TIMEOUT_S = 5.0


class Sizes(NamedTuple):
    few: int
    many: int
    rule_only: int
    starts: int


FULL = Sizes(few=1_000, many=100_000, rule_only=10_000, starts=9)
QUICK = Sizes(few=200, many=2_000, rule_only=1_000, starts=3)

Measured: TypeAlias = Mapping[str, Any]
R = TypeVar("R")
Measuring: TypeAlias = Generator[tuple[str, Figure], None, R]

AT_ONCE = Behaviour()


class Bench:
    def __init__(self, url: str, folder: Path, runs: int) -> None:
        self._url = url
        self._folder = folder
        self._runs = runs
        self._databases = 0

    def figures(self, sizes: Sizes) -> Measuring[None]:
        few_cpu_s = yield from self._beside_the_floor(sizes.few)
        yield from self._with_latency(sizes.few)
        yield from self._under_faults(sizes.few)
        yield from self._rule_only(sizes.rule_only)
        yield "help_over_aiohttp", Figure(help_over_aiohttp(sizes.starts), sizes.starts)
        yield from self._many(sizes.many, cpu_s_each=few_cpu_s)

    def _beside_the_floor(self, n: int) -> Measuring[float]:
        """Returns the product's CPU seconds for one conversation."""
        say(f"floor and product, {n} conversations")
        floors, products = [], []
        for _ in range(self._runs):
            behave(self._url, AT_ONCE)
            floors.append(self.floor(n))
            products.append(self.product(n))
        counts = counted(self._url)
        spoken = sum(len(conversation(number).transcript) for number in range(n))
        cpu_s = middle(products, "cpu_s")
        yield "cpu_ratio", Figure(cpu_s / middle(floors, "cpu_s"), n)
        yield "calls_per_conversation", Figure(counts["requests"] / n, n)
        yield "prompt_overhead_chars", Figure((counts["prompt_chars"] - spoken) / n, n)
        yield "rss_mb_1k", Figure(middle(products, "rss_mb"), n)
        return cpu_s / n

    def _with_latency(self, n: int) -> Measuring[None]:
        say(f"{LATENCY_MS} ms latency, {n} conversations")
        walls, in_flight = [], []
        for _ in range(self._runs):
            walls.append(self.product(n, Behaviour(LATENCY_MS)))
            in_flight.append(counted(self._url)["max_in_flight"])
        yield "wall_over_ideal", Figure(middle(walls, "wall_s") / ideal_s(n), n)
        yield "in_flight", Figure(median(in_flight), n)

    def _under_faults(self, n: int) -> Measuring[None]:
        """The worst of the runs."""
        say(f"faults, {n} conversations")
        lost, calls, walls = [], [], []
        for _ in range(self._runs):
            worked = self.product(n, Behaviour(LATENCY_MS, faults=True), timeout_s=FAULTY_TIMEOUT_S)
            lost.append(n - worked["scored"])
            calls.append(counted(self._url)["requests"] / n)
            walls.append(worked["wall_s"] / (ideal_s(n) + 2 * FAULTY_TIMEOUT_S))
        yield "lost_under_faults", Figure(max(lost), n)
        yield "calls_under_faults", Figure(max(calls), n)
        yield "wall_under_faults", Figure(max(walls), n)

    def _rule_only(self, n: int) -> Measuring[None]:
        say(f"no model, {n} conversations")
        runs = [self.product(n, None) for _ in range(self._runs)]
        yield "rule_only_per_s", Figure(n / middle(runs, "cpu_s"), n)

    def _many(self, n: int, *, cpu_s_each: float) -> Measuring[None]:
        say(f"memory and growth, {n} conversations")
        worked = self.product(n)
        yield "rss_mb_100k", Figure(worked["rss_mb"], n)
        yield "growth_100k", Figure(worked["cpu_s"] / n / cpu_s_each, n)

    def floor(self, n: int) -> Measured:
        return output_of("floor", self._url, self._database(), str(n))

    def product(self, n: int, model: Behaviour | None = AT_ONCE, *, timeout_s: float = 60) -> Measured:
        """`model` None: no judge, and a rule that needs none."""
        options = ["--url", self._url, "--timeout-s", str(timeout_s)] if model else []
        given = [COMPLETENESS if model else KEYWORDS, self._database(), str(n), *options]
        behave(self._url, AT_ONCE)
        output_of("product", "plan", *given)
        behave(self._url, model or AT_ONCE)
        worked = output_of("product", "work", *given)
        if worked["scored"] < n and not (model and model.faults):
            raise SystemExit(f"only {worked['scored']} of {n} conversations were scored")
        return worked

    def _database(self) -> str:
        self._databases += 1
        return str(self._folder / f"{self._databases}.db")


def ideal_s(n: int) -> float:
    return n / CONCURRENCY * LATENCY_MS / 1000


def middle(runs: Sequence[Measured], key: str) -> float:
    return float(median(run[key] for run in runs))


def output_of(module: str, *arguments: str) -> Measured:
    command = [sys.executable, "-m", f"benchmarks.speed.{module}", *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT)  # noqa: S603 - our own code
    printed: Measured = orjson.loads(done.stdout)
    return printed


def help_over_aiohttp(starts: int) -> float:
    """CPU time of `agenteval --help` over that of `import aiohttp`, taken by turns."""
    ratios = []
    for _ in range(starts):
        shown = cpu_s_of("from agenteval.cli import main; main(['--help'])")
        ratios.append(shown / cpu_s_of("import aiohttp"))
    return median(ratios)


def cpu_s_of(code: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own code
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help="few conversations")
    parser.add_argument("--runs", type=int, default=3, help="of which the median counts")
    given = parser.parse_args()
    with fake_model() as url, TemporaryDirectory() as folder:
        figures = dict(Bench(url, Path(folder), given.runs).figures(QUICK if given.quick else FULL))
    reported = report(figures)
    if given.json:
        sys.stdout.buffer.write(orjson.dumps(reported, option=orjson.OPT_INDENT_2) + b"\n")
    else:
        print(*lines(reported), sep="\n")


if __name__ == "__main__":
    main()
