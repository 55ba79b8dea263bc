"""Agreement of a judge with people's labels, by measure, language and variant."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from random import Random
from typing import Any

from agenteval.domain.agreement import agreement
from agenteval.domain.statistics import Interval, interval
from benchmarks.judge_quality.gold import SEED, Label, Measure

ALL = "all"
RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that people labelled and the judge was asked. `given` is None when the judge left it undecided.
    `parent`: the dialog that this one is or was made from."""

    measure: Measure
    language: str
    variant: str
    parent: str
    dialog: str
    name: str
    label: Label
    given: bool | str | None
    why: Mapping[str, Any]

    @property
    def pair(self) -> tuple[bool | str, bool | str | None]:
        """Label and verdict. A verdict among several right ones is compared with itself, else with the last one."""
        if isinstance(self.label, bool):
            return self.label, self.given
        return (self.given if self.given in self.label else self.label[-1]), self.given

    @property
    def right(self) -> bool:
        label, given = self.pair
        return label == given


def report(items: Sequence[Item]) -> dict[str, Any]:
    """By measure, then by language (and "all"), the figures with those of each variant."""
    reported = {
        measure.value: _by_language([item for item in items if item.measure is measure])
        for measure in Measure
        if any(item.measure is measure for item in items)
    }
    for language, figures in reported.get(Measure.INTENTS, {}).items():
        _take_negatives(figures, reported[Measure.EXPECTED_INTENT][language])
    return reported


def _take_negatives(intents: dict[str, Any], expected: Mapping[str, Any]) -> None:
    """Whether an intent was wrong can be asked only of one that was expected."""
    intents["f1_negative"] = expected["f1_negative"]
    for variant, figures in intents.get("variants", {}).items():
        _take_negatives(figures, expected["variants"][variant])


def _by_language(items: Sequence[Item]) -> dict[str, Any]:
    groups = {language: [item for item in items if item.language == language] for language in _languages(items)}
    return {language: _by_variant(group) for language, group in {ALL: items, **groups}.items()}


def _languages(items: Iterable[Item]) -> list[str]:
    return sorted({item.language for item in items})


def _by_variant(items: Sequence[Item]) -> dict[str, Any]:
    variants = sorted({item.variant for item in items})
    return {**figures(items), "variants": {v: figures([item for item in items if item.variant == v]) for v in variants}}


def figures(items: Sequence[Item]) -> dict[str, Any]:
    """`n` items, of which `decided` have a verdict; all else is of these alone. `accuracy`: the share of verdicts that
    are right, which is the precision of what the judge decides, with Wilson's interval by dialog. `kappa`: Cohen's,
    None when chance agreement is certain, with a bootstrap interval by dialog. `f1_negative`: F1 of the label no."""
    by_dialog = [[item for item in group if item.given is not None] for group in _grouped(items)]
    decided = [item for dialog in by_dialog for item in dialog]
    bounds = interval([[Fraction(item.right) for item in dialog] for dialog in by_dialog])
    return {
        "n": len(items),
        "decided": len(decided),
        "accuracy": _rounded(Fraction(sum(item.right for item in decided), len(decided)) if decided else None),
        "accuracy_interval": _bounds(bounds),
        "kappa": _rounded(agreement([item.pair for item in decided]).kappa),
        "kappa_interval": _bounds(bootstrap([[item.pair for item in dialog] for dialog in by_dialog if dialog])),
        "f1_negative": _rounded(f1_negative([item.pair for item in decided])),
    }


def _grouped(items: Iterable[Item]) -> Iterator[list[Item]]:
    for _, group in groupby(sorted(items, key=lambda item: item.parent), key=lambda item: item.parent):
        yield list(group)


def f1_negative(pairs: Iterable[tuple[object, object]]) -> Fraction | None:
    """2·tp / (2·tp + fp + fn), where no is what is looked for; None when nobody says no."""
    nos = [(label is False) + (given is False) for label, given in pairs]
    return Fraction(2 * nos.count(2), sum(nos)) if sum(nos) else None


def bootstrap(dialogs: Sequence[Sequence[tuple[bool | str, bool | str | None]]]) -> Interval | None:
    """Percentile bootstrap of kappa, 95 %, with `RESAMPLES` draws of as many dialogs with replacement. None when one
    of the draws in twenty has no kappa. Too narrow for few dialogs."""
    random = Random(SEED)  # noqa: S311 - not for secrets
    drawn = (random.choices(dialogs, k=len(dialogs)) for _ in range(RESAMPLES)) if dialogs else ()
    kappas = [agreement([pair for dialog in sample for pair in dialog]).kappa for sample in drawn]
    known = sorted(kappa for kappa in kappas if kappa is not None)
    if len(known) < RESAMPLES * 0.95:
        return None
    return Interval(float(known[round(0.025 * (len(known) - 1))]), float(known[round(0.975 * (len(known) - 1))]))


def _rounded(value: Fraction | None) -> float | None:
    return None if value is None else round(float(value), 3)


def _bounds(bounds: Interval | None) -> list[float] | None:
    return None if bounds is None else [round(bounds.low, 3), round(bounds.high, 3)]


def lines(reported: Mapping[str, Any]) -> Iterator[str]:
    yield f"{'':<30}{'n':>6}{'decided':>9}  {'accuracy':<21}{'kappa':<22}f1 of no"
    for measure, languages in reported.items():
        for language, told in languages.items():
            yield _line(f"{measure} {language}", told)
            if language != ALL:
                yield from (_line(f"  {variant}", each) for variant, each in told["variants"].items())


def _line(name: str, told: Mapping[str, Any]) -> str:
    accuracy, kappa = (_text(told[key], told[f"{key}_interval"]) for key in ("accuracy", "kappa"))
    return f"{name:<30}{told['n']:>6}{told['decided']:>9}  {accuracy:<21}{kappa:<22}{_text(told['f1_negative'], None)}"


def _text(value: float | None, bounds: Sequence[float] | None) -> str:
    shown = "-" if value is None else f"{value:.3f}"
    return f"{shown} [{bounds[0]:.3f}, {bounds[1]:.3f}]" if bounds else shown
