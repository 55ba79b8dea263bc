"""What people filled into a review queue."""

from pathlib import Path

import pytest

from agenteval.datasets.verdicts import load
from agenteval.domain.errors import InputError
from agenteval.domain.evidence import Speaker
from agenteval.domain.review import Statement

HEADER = "queue,case,repeat,rule,item,verdict,user,agent,tool,note"


def written(folder: Path, text: str, name: str = "v.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_row_with_a_verdict_is_a_statement_and_one_without_says_nothing(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        f'\ufeff{HEADER}\r\nsample,c1,2,tc,slot:a, filled ,"我叫, 张三",#2,,看过\r\nsample,c2,1,tc,slot:a,,,,,\r\n',
    )
    assert load(path) == [
        Statement(
            *("c1", 2, "tc", "slot:a", "filled"),
            {Speaker.USER: "我叫, 张三", Speaker.AGENT: "#2"},
            "看过",
            where=f"{path}: row 2",
        )
    ]


@pytest.mark.parametrize("sign", ",;\t")
def test_a_spreadsheet_may_write_it_with_any_delimiter_and_fewer_columns(tmp_path: Path, sign: str) -> None:
    rows = ["case,rule,item,verdict", "c1,tc,slot:a,missing"]
    (found,) = load(written(tmp_path, "\n".join(rows).replace(",", sign)))
    assert (found.case_id, found.repeat, found.word, found.words) == ("c1", 1, "missing", {})


def test_excels_unicode_text_and_its_delimiter_line_are_read(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text("sep=;\ncase;repeat;rule;item;verdict;run\nc1;1.0;tc;slot:a;missing;r1\n", encoding="utf-16")
    (found,) = load(path)
    assert (found.case_id, found.repeat, found.run_id) == ("c1", 1, "r1")


def test_what_was_written_so_that_no_spreadsheet_computes_it_is_read_as_it_was(tmp_path: Path) -> None:
    (found,) = load(written(tmp_path, "case,rule,item,verdict,note\n'=1+1,tc,slot:a,missing,'quoted\n"))
    assert (found.case_id, found.note) == ("=1+1", "'quoted")


def test_json_lines_hold_the_same(tmp_path: Path) -> None:
    line = '{"case": "c1", "repeat": 3, "rule": "tc", "item": "slot:a", "verdict": "missing", "note": null}\n'
    (found,) = load(written(tmp_path, line + "\n", "v.jsonl"))
    assert (found.repeat, found.note, found.where.endswith("line 1")) == (3, "", True)


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        ("case,item,verdict\n", "v.csv", "there is no column rule"),
        ("", "v.csv", "there is no column"),
        (f"{HEADER}\n", "v.csv", "holds no verdict"),
        (f"{HEADER}\n,,,,,missing,,,,\n", "v.csv", "row 2: has no case, rule, item"),
        (f"{HEADER}\n,c,x,r,i,missing,,,,\n", "v.csv", "row 2: repeat is no whole number: x"),
        ("case,rule,item,verdict\na,b,c,d,e\n", "v.csv", "row 2: has 5 cells, the header has 4"),
        ('case,rule,item,verdict\na,b,c,"d\n', "v.csv", "row 2: is no CSV"),
        ("nonsense\n", "v.jsonl", "line 1: is no JSON"),
        ("[1]\n", "v.jsonl", "line 1: is no object"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(tmp_path: Path, text: str, name: str, told: str) -> None:
    with pytest.raises(InputError, match=told.replace("(", r"\(")):
        load(written(tmp_path, text, name))


def test_all_faults_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        load(written(tmp_path, f"{HEADER}\n,,,,,missing,,,,\n,c,x,r,i,missing,,,,\n"))
    assert len(refused.value.problems) == 2
