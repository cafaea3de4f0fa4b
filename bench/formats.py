"""What Python measures for the reports `formats` and `embeddings`: Staffa beside Parquet, Feather, ORC and others.

One core, CPU time with that of the system, out of files that are in the page cache.
"""

from __future__ import annotations

import os

# Before the libraries ask.
os.environ["RAYON_NUM_THREADS"] = os.environ["LANCE_CPU_THREADS"] = "1"

import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import feather, orc

import staffa

ROUNDS = 7
WIDE = 10_000

Run = Callable[[], Any]


def medians(runs: Mapping[str, Run], rounds: int = ROUNDS, warm: bool = True) -> dict[str, float]:
    """CPU seconds of each; all take turns, each once unmeasured (where `warm`) and once measured."""
    found: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            if warm:
                run()
            start = time.process_time()
            run()
            found[name].append(time.process_time() - start)
    return {name: statistics.median(times) for name, times in found.items()}


def alone() -> None:
    """Holds this process to one core."""
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def write_parquet(table: pa.Table, path: Path, codec: str, **options: Any) -> None:
    """By pyarrow, Zstd at level 3."""
    level = {"compression_level": 3} if codec == "zstd" else {}
    pq.write_table(table, path, compression=codec, **level, **options)


def write_feather(table: pa.Table, path: Path, codec: str) -> None:
    """Feather of version 2: Arrow's file."""
    feather.write_feather(table, path, compression=codec)


def write_orc(table: pa.Table, path: Path, codec: str) -> None:
    """By pyarrow, whose ORC knows lists of no fixed size."""
    fields = table.schema
    if any(pa.types.is_fixed_size_list(field.type) for field in fields):
        lists = [
            pa.field(f.name, pa.list_(f.type.value_type)) if pa.types.is_fixed_size_list(f.type) else f for f in fields
        ]
        table = table.cast(pa.schema(lists))
    orc.write_table(table, path, compression=codec)


def read_staffa(path: Path, columns: list[str]) -> pa.Table:
    """Opened, and some columns."""
    return staffa.open(path).to_table(columns=columns)


def read_parquet(path: Path, columns: list[str]) -> pa.Table:
    """The one file, without looking for others."""
    return pq.ParquetFile(path, memory_map=True).read(columns=columns, use_threads=False)


def read_feather(path: Path, columns: list[str]) -> pa.Table:
    """Into memory: a map would read nothing until it is used."""
    return feather.read_table(path, columns=columns, use_threads=False, memory_map=False)


def read_orc(path: Path, columns: list[str]) -> pa.Table:
    """All stripes."""
    return orc.ORCFile(path).read(columns=columns)


# How it is written, and some columns of it read.
FORMATS: dict[str, tuple[Callable[..., Any], Callable[[Path, list[str]], pa.Table]]] = {
    "Staffa": (lambda table, path: staffa.write_table(table, path), read_staffa),
    "Parquet zstd": (lambda table, path: write_parquet(table, path, "zstd"), read_parquet),
    "Parquet": (lambda table, path: write_parquet(table, path, "none"), read_parquet),
    "Feather zstd": (lambda table, path: write_feather(table, path, "zstd"), read_feather),
    "Feather": (lambda table, path: write_feather(table, path, "uncompressed"), read_feather),
    "ORC zstd": (lambda table, path: write_orc(table, path, "zstd"), read_orc),
    "ORC": (lambda table, path: write_orc(table, path, "uncompressed"), read_orc),
}

# Figures 30 to 32.
PHASES = ["Staffa", "Parquet zstd", "Feather zstd", "ORC zstd"]

# Table 7 of the paper: table, columns, filter.
QUERIES: dict[str, tuple[str, list[str], pc.Expression]] = {
    "Q1": (
        "catalog_sales",
        ["cs_ship_date_sk", "cs_bill_customer_sk"],
        (pc.field("cs_sold_time_sk") == 12032) & (pc.field("cs_sold_date_sk") == 2452653),
    ),
    "Q2": (
        "customer_demographics",
        ["cd_demo_sk", "cd_dep_college_count"],
        (pc.field("cd_gender") == "F") & (pc.field("cd_education_status") == "Secondary"),
    ),
    "Q3": (
        "customer_demographics",
        ["cd_demo_sk"],
        (pc.field("cd_gender") == "M")
        & (pc.field("cd_marital_status") == "D")
        & (pc.field("cd_education_status") == "College"),
    ),
    "Q4": (
        "catalog_sales",
        ["cs_ext_sales_price", "cs_sold_date_sk", "cs_item_sk"],
        (pc.field("cs_wholesale_cost") > 80.0) & (pc.field("cs_ext_tax") < 500.0),
    ),
    "Q5": (
        "catalog_sales",
        [
            "cs_ext_sales_price",
            "cs_sold_date_sk",
            "cs_item_sk",
            "cs_net_paid_inc_tax",
            "cs_net_paid_inc_ship_tax",
            "cs_net_profit",
        ],
        pc.field("cs_wholesale_cost") > 80.0,
    ),
}
PREDICATE_COLUMNS = {
    "Q1": ["cs_sold_time_sk", "cs_sold_date_sk"],
    "Q2": ["cd_gender", "cd_education_status"],
    "Q3": ["cd_gender", "cd_marital_status", "cd_education_status"],
    "Q4": ["cs_wholesale_cost", "cs_ext_tax"],
    "Q5": ["cs_wholesale_cost"],
}
# Figures 22 and 23.
PROJECTIONS = {
    "an integer": ("catalog_sales", ["cs_ship_date_sk"]),
    "a double": ("catalog_sales", ["cs_wholesale_cost"]),
    "a string": ("customer_demographics", ["cd_education_status"]),
}


def tpcds(data: Path, name: str) -> pa.Table:
    """A table, its decimals as doubles, as the paper has them."""
    table = pq.read_table(data / f"{name}.parquet")
    doubles = [pa.field(f.name, pa.float64()) if pa.types.is_decimal(f.type) else f for f in table.schema]
    return table.cast(pa.schema(doubles))


def rows_of(found: pa.Table) -> dict[str, Any]:
    """How many rows, and the sums of the numbers: to compare."""
    sums = {
        name: pc.sum(found[name]).as_py() for name in found.schema.names if not pa.types.is_string(found[name].type)
    }
    return {"rows": found.num_rows, **{name: round(value or 0, 2) for name, value in sums.items()}}


def same(results: Mapping[str, dict[str, Any]]) -> None:
    """All found the same."""
    first = next(iter(results.values()))
    for name, result in results.items():
        if any(abs(result[key] - first[key]) > 1e-9 * abs(first[key]) for key in first):
            raise SystemExit(f"{name} found {result}, others {first}")


def filtered(name: str, path: Path, columns: list[str], wanted: list[str], predicate: pc.Expression) -> pa.Table:
    """A query, as each format's own reader has it."""
    if name == "Staffa":
        return staffa.open(path).to_table(columns=columns, filter=predicate)
    if name.startswith("Parquet"):
        return pq.read_table(path, columns=columns, filters=predicate, use_threads=False)
    _, read = FORMATS[name]
    every = list(dict.fromkeys([*columns, *wanted]))
    return read(path, every).filter(predicate).select(columns)


def formats(data: Path) -> Any:
    """Figures 22 to 27, 29 to 32, and a wide table."""
    alone()
    out: dict[str, Any] = {"sizes": {}, "projections": {}, "columns": {}, "filters": {}, "queries": {}, "wide": {}}
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for table_name in ("catalog_sales", "customer_demographics"):
            table = tpcds(data, table_name)
            out["sizes"][table_name] = {"Arrow": table.nbytes}
            for name, (write, _) in FORMATS.items():
                path = paths[table_name, name] = Path(folder) / f"{table_name}.{name.replace(' ', '.')}"
                write(table, path)
                out["sizes"][table_name][name] = path.stat().st_size
            names = table.schema.names
            if table_name == "catalog_sales":
                for count in (1, 5, 10, 20, len(names)):
                    chosen = names[:: max(1, len(names) // count)][:count] if count < len(names) else names
                    reads: dict[str, Run] = {
                        name: (lambda read=read, path=paths[table_name, name], chosen=chosen: read(path, chosen))
                        for name, (_, read) in FORMATS.items()
                    }
                    out["columns"][count] = medians(reads, 3)
        del table
        for label, (table_name, columns) in PROJECTIONS.items():
            reads = {
                name: (lambda read=read, path=paths[table_name, name], columns=columns: read(path, columns))
                for name, (_, read) in FORMATS.items()
            }
            out["projections"][label] = medians(reads)
        out["filters"] = filters({(t, n): p for (t, n), p in paths.items()})
        for query, (table_name, columns, predicate) in QUERIES.items():
            runs: dict[str, Run] = {
                name: (
                    lambda name=name, path=paths[table_name, name], q=query, c=columns, p=predicate: filtered(
                        name, path, c, PREDICATE_COLUMNS[q], p
                    )
                )
                for name in FORMATS
            }
            results = {name: rows_of(run()) for name, run in runs.items()}
            same(results)
            out["queries"][query] = {"rows": results["Staffa"]["rows"], "seconds": medians(runs)}
        out["phases"] = phases(paths)
        out["wide"] = wide(Path(folder))
    return out


def phases(paths: Mapping[tuple[str, str], Path]) -> Any:
    """Figures 30 to 32: the queries cold and warm, load and query apart; the filter in the reader, or after it."""
    out: dict[str, Any] = {}
    for query, (table_name, columns, predicate) in QUERIES.items():
        every = list(dict.fromkeys([*columns, *PREDICATE_COLUMNS[query]]))
        cases: dict[str, tuple[Path, Run, Run | None]] = {}
        for name in PHASES:
            path, (_, read) = paths[table_name, name], FORMATS[name]
            if name == "Staffa" or name.startswith("Parquet"):
                whole = partial(filtered, name, path, columns, [], predicate)
                cases[f"{name}, filter in the reader"] = path, whole, None
            load = partial(read, path, every)
            cases[f"{name}, loaded, then filtered"] = path, load, partial(after, columns, predicate)
        out[query] = {label: {"cold": [], "warm": []} for label in cases}
        for _ in range(ROUNDS):
            for label, (path, load, then) in cases.items():
                for state in ("cold", "warm"):
                    if state == "cold":
                        drop(path)
                    start = time.perf_counter()
                    loaded = load()
                    middle = time.perf_counter()
                    found = loaded if then is None else then(loaded)
                    out[query][label][state].append((middle - start, time.perf_counter() - middle, found.num_rows))
        for states in out[query].values():
            for state, runs in states.items():
                load, then, rows = (statistics.median(of) for of in zip(*runs, strict=True))
                states[state] = {"load": load, "query": then, "rows": rows}
        if len({state["rows"] for states in out[query].values() for state in states.values()}) > 1:
            raise SystemExit(f"{query}: {out[query]}")
    return out


def after(columns: list[str], predicate: pc.Expression, table: pa.Table) -> pa.Table:
    """A filter on what was loaded."""
    return table.filter(predicate).select(columns)


def drop(path: Path) -> None:
    """The file leaves the page cache."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def filters(paths: Mapping[tuple[str, str], Path]) -> Any:
    """Figures 26 and 27: a column read, a predicate, how many rows it is true for."""
    out = {}
    ship = read_parquet(paths["catalog_sales", "Parquet"], ["cs_ship_date_sk"])[0].combine_chunks()
    cost = read_parquet(paths["catalog_sales", "Parquet"], ["cs_wholesale_cost"])[0].combine_chunks()
    # The paper's selectivities: 65% and 30%.
    least = pc.quantile(ship, q=0.35, interpolation="lower")[0].as_py()
    most = pc.quantile(cost, q=0.7, interpolation="lower")[0].as_py()
    cases = {
        "an integer, > n": ("catalog_sales", "cs_ship_date_sk", pc.greater, ">", least),
        "a double, > n": ("catalog_sales", "cs_wholesale_cost", pc.greater, ">", most),
        "a string, = n": ("customer_demographics", "cd_education_status", pc.equal, "==", "Secondary"),
    }
    for label, (table_name, column, compare, sign, literal) in cases.items():
        field = pc.field(column)
        predicate = field > literal if sign == ">" else field == literal

        def counted(
            name: str, table_name=table_name, column=column, compare=compare, literal=literal, predicate=predicate
        ) -> int:
            path = paths[table_name, name]
            if name == "Staffa":
                return staffa.open(path).aggregate({column: "rows"}, filter=predicate)[column]["rows"].as_py()
            _, read = FORMATS[name]
            return pc.sum(compare(read(path, [column])[0], literal)).as_py()

        runs = {name: (lambda name=name, counted=counted: counted(name)) for name in FORMATS}
        found = {name: run() for name, run in runs.items()}
        if len(set(found.values())) > 1:
            raise SystemExit(f"{label}: {found}")
        out[label] = {"rows": found["Staffa"], "literal": literal, "seconds": medians(runs)}
    return out


def wide(folder: Path) -> Any:
    """A table of many columns, of which one is read, and all."""
    random = np.random.default_rng(1)
    rows = 1_000
    columns = {
        f"c{i}": random.integers(0, 10 ** (1 + i % 6), rows) if i % 2 else random.integers(0, 10_000, rows) / 100
        for i in range(WIDE)
    }
    table = pa.table(columns)
    out: dict[str, Any] = {"columns": WIDE, "rows": rows, "Arrow": table.nbytes, "bytes": {}, "write": {}}
    one, every = {}, {}
    for name, (write, read) in FORMATS.items():
        path = folder / f"wide.{name.replace(' ', '.')}"
        start = time.process_time()
        write(table, path)
        out["write"][name] = time.process_time() - start
        out["bytes"][name] = path.stat().st_size
        one[name] = lambda read=read, path=path: read(path, ["c5001"])
        every[name] = lambda read=read, path=path: read(path, table.schema.names)
    out["one"] = medians(one, 5)
    out["all"] = medians(every, 1)
    return out


def embeddings(data: Path) -> Any:
    """Figures 14 to 20: vectors in columns, and nested."""
    alone()
    vectors = pq.read_table(data / "embeddings_wikipedia.parquet")["embedding"].combine_chunks()
    size = vectors.type.list_size
    matrix = np.ascontiguousarray(vectors.flatten().to_numpy().reshape(-1, size))
    flat = pa.array(matrix.ravel())
    layouts = {
        "columnar": pa.table({f"d{i}": pa.array(np.ascontiguousarray(matrix[:, i])) for i in range(size)}),
        "nested": pa.table({"embedding": pa.FixedSizeListArray.from_arrays(flat, size)}),
    }
    more: dict[str, tuple[Callable[..., Any], Callable[[Path, list[str]], pa.Table]]] = {
        "Staffa, columns apart": (
            lambda table, path: staffa.write_table(table, path, derived_columns=False),
            read_staffa,
        ),
        "Staffa, profile small": (lambda table, path: staffa.write_table(table, path, profile="small"), read_staffa),
        "Parquet zstd, split": (
            lambda table, path: write_parquet(table, path, "zstd", use_dictionary=False, use_byte_stream_split=True),
            read_parquet,
        ),
    }
    try:
        import lance

        more["Lance"] = (
            lambda table, path: lance.write_dataset(table, str(path), mode="overwrite"),
            lambda path, columns: lance.dataset(str(path)).to_table(columns=columns),
        )
    except ImportError:
        pass
    out: dict[str, Any] = {"rows": len(matrix), "size": size, "bytes": matrix.nbytes, "layouts": {}}
    errors = {"Staffa, to 1e-3": 1e-3, "Staffa, to 1e-4": 1e-4}
    with tempfile.TemporaryDirectory() as folder:
        for layout, table in layouts.items():
            columns = table.schema.names
            every = {**FORMATS, **more}
            for label, most in errors.items():
                bound = dict.fromkeys(columns, most)
                every[label] = (
                    lambda table, path, bound=bound: staffa.write_table(table, path, max_error=bound),
                    read_staffa,
                )
            writes: dict[str, Run] = {}
            reads: dict[str, Run] = {}
            sizes = {}
            npy = Path(folder) / f"{layout}.npy"
            writes["NumPy"] = lambda npy=npy: np.save(npy, matrix)
            reads["NumPy"] = lambda npy=npy: np.load(npy)
            for name, (write, read) in every.items():
                path = Path(folder) / f"{layout}.{name.replace(' ', '.')}"
                writes[name] = lambda write=write, table=table, path=path: write(table, path)
                reads[name] = lambda read=read, path=path, columns=columns, layout=layout: to_matrix(
                    read(path, columns), layout, size
                )
                writes[name]()
                sizes[name] = bytes_of(path)
                found = reads[name]()
                if found.tobytes() != matrix.tobytes() and np.abs(found - matrix).max() > errors.get(name, 0) * 1.0001:
                    raise SystemExit(f"{name}, {layout}: other values come back")
            writes["NumPy"]()
            sizes["NumPy"] = npy.stat().st_size
            out["layouts"][layout] = {
                "bytes": sizes,
                "write": medians(writes, 3, warm=False),
                "read": medians(reads, 7),
            }
    return out


def bytes_of(path: Path) -> int:
    """Of a file, or all files of a folder."""
    return sum(p.stat().st_size for p in path.rglob("*") if p.is_file()) if path.is_dir() else path.stat().st_size


def to_matrix(table: pa.Table, layout: str, size: int) -> np.ndarray[Any, Any]:
    """The vectors as rows of a matrix."""
    if layout == "columnar":
        return np.stack([column.to_numpy() for column in table.columns], axis=1)
    return table[0].combine_chunks().flatten().to_numpy().reshape(-1, size)
