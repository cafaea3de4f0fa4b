"""pyarrow's own functions on our datasets: each works or raises, and the process goes on."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import staffa

TABLE = pa.table({"x": [1, 2, 3], "city": ["Oban", "Mull", "Oban"]})
PRELUDE = """
import sys, pyarrow as pa, pyarrow.dataset as ds, pyarrow.acero as acero, staffa
d = staffa.dataset(sys.argv[1])
out = sys.argv[2]
def back():
    return ds.dataset(out).to_table().sort_by("x")["x"].to_pylist()
def refused(call, *words):
    try:
        call()
    except TypeError as error:
        assert "Dataset" in str(error) or "Scanner" in str(error) or "Fragment" in str(error), error
        print("refused")
"""
CALLS = {
    "write_dataset": "ds.write_dataset(d, out, format='parquet'); print(back())",
    "write_dataset by partitions": (
        "ds.write_dataset(d, out, format='parquet', partitioning=['city'], partitioning_flavor='hive'); print(back())"
    ),
    "write_dataset of a scanner": "ds.write_dataset(d.scanner(columns=['x']), out, format='parquet'); print(back())",
    "write_dataset of a filter": (
        "ds.write_dataset(d.filter(ds.field('x') > 0), out, format='parquet'); print(back())"
    ),
    "write_dataset of a fragment": ("ds.write_dataset(next(d.get_fragments()), out, format='parquet'); print(back())"),
    "write_dataset of a reader": "ds.write_dataset(d.to_reader(), out, format='parquet'); print(back())",
    "a table of a scanner": "print(pa.table(d.scanner())['x'].to_pylist())",
    "a scan with threads": "print(d.scanner(use_threads=True).to_table()['x'].to_pylist())",
    "a count with threads": "print([1, 2, d.count_rows(use_threads=True)])",
    "from_batches": "print(ds.Scanner.from_batches(d.to_reader()).to_table()['x'].to_pylist())",
    "a union": "refused(lambda: ds.dataset([d, d]))",
    "a union of another": "refused(lambda: ds.dataset([ds.dataset(pa.table({'x': [1]})), d]))",
    "from_dataset": "refused(lambda: ds.Scanner.from_dataset(d))",
    "from_fragment": "refused(lambda: ds.Scanner.from_fragment(next(d.get_fragments())))",
    "a scan node": "refused(lambda: acero.ScanNodeOptions(d))",
    "a join": "refused(lambda: ds.dataset(pa.table({'x': [1]})).join(d, 'x'))",
    "a join of ours": "print(d.join(ds.dataset(pa.table({'x': [1, 2, 3]})), 'x').to_table()['x'].to_pylist())",
    "a dataset of fragments": (
        "refused(lambda: ds.FileSystemDataset(list(d.get_fragments()), d.schema, ds.ParquetFileFormat()))"
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_process_goes_on(name: str, tmp_path: Path) -> None:
    staffa.write_table(TABLE, tmp_path / "t.staffa")
    program = [sys.executable, "-c", PRELUDE + CALLS[name], str(tmp_path / "t.staffa"), str(tmp_path / "out")]
    done = subprocess.run(program, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ("refused" if "refused(" in CALLS[name] else "[1, 2, 3]"), done.stdout


def test_it_looks_like_a_dataset(tmp_path: Path) -> None:
    staffa.write_table(TABLE, tmp_path / "t.staffa")
    dataset = staffa.dataset(tmp_path)
    (fragment,) = dataset.get_fragments()
    for ours, theirs in ((dataset, ds.Dataset), (dataset.scanner(), ds.Scanner), (fragment, ds.Fragment)):
        assert isinstance(ours, theirs)
        assert isinstance(ours, type(ours))
        assert not issubclass(type(ours), theirs)
        assert pickle.loads(pickle.dumps(ours)).to_table() == TABLE
    assert isinstance(dataset, staffa.Dataset)
