"""Queries by DataFusion over the same tables written differently, on a disk of a given bandwidth.

The example `disk` of crates/staffa-datafusion runs them; the package `staffa` writes the files.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import engines

# By the names of PosDB's paper. FastPFOR has no counterpart here: `frame_of_reference` has its exceptions in the block.
POSDB = {"none": "plain", "PFOR": "frame_of_reference", "bit packing": "bitpack", "VByte": "vbyte", "Brotli": "brotli"}
CHOSEN, WHOLE = "chosen", "chosen, all columns"
# Hyrise's segment encodings by ours.
HYRISE = ["plain", "dictionary", "bitpack", "frame_of_reference", "delta", "run_end", "vbyte", "stream_vbyte"]
SUPERSCALAR = ["1", "3", "4", "5", "6", "7", "11", "14", "15", "18", "21"]
MEGABYTE = 10**6


def disk(folders: dict[str, Path], queries: dict[str, str], **more: Any) -> Any:
    """Runs queries over folders of Staffa files; `more` are keys of the example's specification."""
    crate = ["--manifest-path", str(engines.BENCH.parent / "crates/staffa-datafusion/Cargo.toml")]
    command = [
        "cargo",
        "run",
        "--quiet",
        "--profile",
        "sql",
        *crate,
        "--features",
        "parquet",
        "--example",
        "disk",
        "--",
    ]
    spec = {"folders": {name: str(folder) for name, folder in folders.items()}, "queries": queries, **more}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(spec, file)
        file.flush()
        return json.loads(subprocess.run([*command, file.name], stdout=subprocess.PIPE, check=True).stdout)


def write(
    source: Path, folder: Path, encoding: str | None, only: list[str] | None = None, **more: Any
) -> dict[str, int]:
    """Writes tables of a folder with their integer columns in one encoding; bytes of these columns by table.

    The chooser takes the other columns; with `only`, the encoding is for the integers of these tables, and all else
    stays as it is.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    import staffa

    folder.mkdir()
    sizes = {}
    for path in sorted(source.glob("*.parquet")):
        file = pq.ParquetFile(path)
        integers = [field.name for field in file.schema_arrow if pa.types.is_integer(field.type)]
        named = dict.fromkeys(integers, encoding) if encoding else {}
        if only is not None:
            plain = [name for name in file.schema_arrow.names if path.stem not in only or name not in integers]
            named = {**(named if path.stem in only else {}), **dict.fromkeys(plain, "plain")}
        out = folder / f"{path.stem}.staffa"
        batches = pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches(1 << 20))
        staffa.write_table(batches, out, encodings=named, **more)
        columns = staffa.open(out).inspect()["columns"]
        sizes[path.stem] = sum(column["bytes"] for column in columns if column["column"] in integers)
        print(f"{out.parent.name}/{out.name}: {out.stat().st_size / MEGABYTE:.1f} MB", file=sys.stderr)
    return sizes


def posdb(data: Path, scale: float, rounds: int) -> Any:
    """SSB by codec of the integers of lineorder, in turn and all at once; 350 MB/s, 20 MB of cache times the scale."""
    queries = engines.ssb_queries()
    with tempfile.TemporaryDirectory(dir=data) as temporary:
        folder = Path(temporary)
        (folder / "ssb").mkdir()
        engines.make_ssb(folder / "ssb", data, scale)
        sizes, folders = {}, {}
        for name, encoding in [*POSDB.items(), (CHOSEN, None)]:
            folders[name] = folder / name
            sizes[name] = write(folder / "ssb", folders[name], encoding, ["lineorder"], derived_columns=False)[
                "lineorder"
            ]
        folders[WHOLE] = folder / WHOLE
        sizes[WHOLE] = write(folder / "ssb", folders[WHOLE], None)["lineorder"]
        disk_of = {"bandwidth": 350 * MEGABYTE, "cache_bytes": int(scale * 20 * MEGABYTE)}
        measured = {
            "sequential": disk(folders, queries, rounds=rounds, **disk_of),
            "parallel": disk(folders, queries, rounds=rounds, at_once=True, **disk_of),
        }
    return {"scale": scale, "integers": sizes, "rounds": rounds, **measured}


def superscalar_tpch(data: Path, scale: float, queries: Path | None) -> Any:
    """TPC-H uncompressed and compressed, by columns and by whole row groups of 65,536 rows, on two disks."""
    texts = {n: text for n, text in engines.tpch_queries(queries).items() if n.removeprefix("Q") in SUPERSCALAR}
    with tempfile.TemporaryDirectory(dir=data) as temporary:
        folder = Path(temporary)
        folders = {name: folder / name for name in ("DSM, plain", "DSM", "PAX, plain", "PAX")}
        for name, to in folders.items():
            rows = {"row_group_rows": 1 << 16} if name.startswith("PAX") else {}
            plain: dict[str, Any] = {"only": []} if name.endswith("plain") else {}
            write(data, to, None, **plain, **rows)
        whole = [name for name in folders if name.startswith("PAX")]
        measured = {
            str(rate): disk(folders, texts, bandwidth=rate * MEGABYTE, whole_row_groups=whole) for rate in (80, 350)
        }
    return {"scale": scale, "disks": measured}


def hyrise(data: Path, rounds: int, queries: Path | None, tpcds: Path | None, ds_queries: Path | None) -> Any:
    """TPC-H and TPC-DS with their integers in one encoding: bytes of these columns, CPU time of all queries."""
    measured = {}
    for name, source, texts in (
        ("TPC-H", data, engines.tpch_queries(queries)),
        ("TPC-DS", tpcds, json.loads(ds_queries.read_text()) if ds_queries else {}),
    ):
        if not source or not texts:
            continue
        with tempfile.TemporaryDirectory(dir=source) as temporary:
            folders, sizes = {}, {}
            for encoding in [*HYRISE, "chosen", "random"]:
                folders[encoding] = Path(temporary) / encoding
                by_name = encoding if encoding in HYRISE else None
                access = "random" if encoding == "random" else "scan"
                sizes[encoding] = sum(write(source, folders[encoding], by_name, access=access).values())
            ran = disk(folders, texts, rounds=rounds)
        measured[name] = {"integers": sizes, "rounds": rounds, **ran}
    return measured
