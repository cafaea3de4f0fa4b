"""Files in an object store: Amazon's protocol, by a server on loopback."""

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import staffa
from staffa._staged import StagedWrite

moto = pytest.importorskip("moto.server")


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """A bucket, the settings for which stand in the environment."""
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    settings = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret-of-the-tests",
        "AWS_REGION": "us-east-1",
    }
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    import boto3

    boto3.client("s3", endpoint_url=settings["AWS_ENDPOINT_URL"]).create_bucket(Bucket="bucket")
    yield "s3://bucket"
    server.stop()
    for name, value in before.items():
        os.environ.pop(name) if value is None else os.environ.update({name: value})


def program(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "staffa", *arguments], capture_output=True, text=True, check=False)


def written(url: str, table: pa.Table, folder: Path) -> None:
    """The table as an object, by the program."""
    staffa.write_table(table, folder / "t.staffa", overwrite=True)
    done = program("convert", "--quiet", "--force", str(folder / "t.staffa"), url)
    assert done.returncode == 0, done.stderr


def test_an_object_is_a_file(bucket: str, tmp_path: Path) -> None:
    table = pa.table({"n": range(100_000), "name": [f"name {i * 7919 % 1000}" for i in range(100_000)]})
    url = f"{bucket}/folder/t.staffa"
    written(url, table, tmp_path)
    file = staffa.open(url)
    assert file.to_table() == table
    assert file.to_table(["name"], "n >= 99998")["name"].to_pylist() == table["name"].to_pylist()[-2:]
    assert file.take([5, 99_999, 5])["n"].to_pylist() == [5, 99_999, 5]
    assert file.aggregate({"n": "max"})["n"]["max"].as_py() == 99_999
    assert staffa.read_table(url, limit=3) == table[:3]
    found = program("cat", "--csv", "--where", "n = 77", url)
    assert found.stdout.splitlines() == ["n,name", f"77,name {77 * 7919 % 1000}"]


def test_prefixes_and_wildcards_are_datasets(bucket: str, tmp_path: Path) -> None:
    for year in (2024, 2025):
        written(f"{bucket}/trips/year={year}/a.staffa", pa.table({"n": [year, 1]}), tmp_path)
    written(f"{bucket}/trips/_old/a.staffa", pa.table({"n": [0]}), tmp_path)
    expected = [{"n": n, "year": year} for year in (2024, 2025) for n in (year, 1)]
    for source in (f"{bucket}/trips/", f"{bucket}/trips/year=*/*.staffa", f"{bucket}/*/year=*/*.staffa"):
        dataset = staffa.dataset(source)
        assert dataset.to_table().to_pylist() == expected
        assert dataset.to_table(filter=pc.field("year") == 2025)["n"].to_pylist() == [2025, 1]
    with pytest.raises(FileNotFoundError, match="no object matches"):
        staffa.dataset(f"{bucket}/none/*.staffa")


def test_splits_are_of_the_object_that_was_planned(bucket: str, tmp_path: Path) -> None:
    url = f"{bucket}/splits/t.staffa"
    table = pa.table({"n": range(100_000), "name": [f"name {i * 7919 % 1000}" for i in range(100_000)]})
    staffa.write_table(table, url, row_group_rows=40_000)
    splits = staffa.dataset(f"{bucket}/splits/").splits(["name"], "n >= 90000")
    assert [(split.path, split.row_group) for split in splits] == [(url, 2)]
    read = pickle.loads(pickle.dumps(splits))[0]
    assert read.to_table()["name"] == table["name"][90_000:]
    staffa.write_table(table.slice(1), url, row_group_rows=40_000)
    # This process has it open.
    program = "import pickle, sys; pickle.load(sys.stdin.buffer)[0].read()"
    done = subprocess.run([sys.executable, "-c", program], input=pickle.dumps(splits), capture_output=True, check=False)
    assert f"ChangedFileError: {url}: the file was replaced" in done.stderr.decode()


def test_several_processes_write_to_a_store(bucket: str) -> None:
    import boto3

    def names() -> list[str]:
        client = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
        return [found["Key"] for found in client.list_objects_v2(Bucket="bucket", Prefix="staged/").get("Contents", [])]

    folder, table = f"{bucket}/staged", pa.table({"n": range(100), "day": [i % 2 for i in range(100)]})
    write = StagedWrite(folder, table.schema, partition_by=["day"])
    lost = pickle.loads(pickle.dumps(write)).write(table.to_batches())
    written = pickle.loads(pickle.dumps(write)).write(table.to_batches())
    assert len(lost.files) == 2
    with pytest.raises(FileNotFoundError):
        staffa.dataset(f"{folder}/")
    summary = write.commit([written, write.write([])])
    assert sorted(summary.files) == sorted(f"{bucket}/{name}" for name in names())
    assert staffa.dataset(f"{folder}/").count_rows("day = 1") == 50
    again = StagedWrite(folder, table.schema, existing="overwrite")
    again.commit([again.write(table.to_batches())])
    assert len(names()) == 1
    given_up = StagedWrite(folder, table.schema, existing="append")
    given_up.write(table.to_batches())
    given_up.abort()
    assert len(names()) == 1


def test_what_is_wrong_is_said_without_secrets(bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for url in (f"{bucket}/none.staffa", "s3://no-such-bucket/t.staffa"):
        with pytest.raises(FileNotFoundError, match="no such object or bucket"):
            staffa.open(url)
    url = f"{bucket}/changed.staffa"
    # More than is read when a file is opened.
    random = Random(1)
    table = pa.table({"n": [random.getrandbits(62) for _ in range(50_000)]})
    written(url, table, tmp_path)
    file = staffa.open(url)
    written(url, table[1:], tmp_path)
    with pytest.raises(OSError, match="was changed while it was read"):
        file.to_table()
    done = program("convert", "--quiet", str(tmp_path / "t.staffa"), url)
    assert done.returncode == 3
    assert "the object exists" in done.stderr
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    done = program("count", url)
    assert done.returncode == 3
    assert url in done.stderr
    assert "secret-of-the-tests" not in done.stderr


def test_python_writes_to_urls(bucket: str) -> None:
    table = pa.table({"n": range(10), "k": [i % 3 for i in range(10)]})
    url = f"{bucket}/written/t.staffa"
    assert staffa.write_table(table, url, metadata={"who": "we"}).rows == 10
    assert staffa.read_table(url) == table
    assert staffa.open(url).metadata == {"who": b"we"}
    with pytest.raises(FileExistsError, match="the object exists"):
        staffa.write_table(table, url, overwrite=False)
    with pytest.raises(ZeroDivisionError), staffa.Writer(f"{bucket}/written/half.staffa", table.schema) as writer:
        writer.write_table(table)
        _ = 1 / 0
    folder = f"{bucket}/parts/"
    first = staffa.write_dataset(table, folder, partition_by=["k"], max_open_files=2)
    assert first.rows == 10
    assert all(file.startswith(f"{folder}k=") for file in first.files)
    with pytest.raises(FileExistsError, match=r"has 3 \.staffa files"):
        staffa.write_dataset(table, folder)
    staffa.write_dataset(table, folder, partition_by=["k"], existing="append")
    rows = staffa.dataset(folder)
    assert (rows.count_rows(), rows.count_rows(pc.field("k") == 1)) == (20, 6)
    assert pickle.loads(pickle.dumps(rows)).count_rows() == 20
    staffa.write_dataset(table, folder, partition_by=["k"], existing="overwrite")
    assert sorted(staffa.read_table(folder)["n"].to_pylist()) == list(range(10))
    assert not staffa.dataset(f"{bucket}/written/").files[1:]


def test_nothing_is_left_of_a_folder_that_fails(bucket: str) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        for k in range(5):
            yield pa.record_batch({"n": [k], "k": [k]})
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        staffa.write_dataset(failing(), f"{bucket}/failed/", partition_by=["k"], max_open_files=1)
    with pytest.raises(FileNotFoundError, match="no object matches"):
        staffa.dataset(f"{bucket}/failed/")


def test_tables_are_indexed_appended_to_and_compacted(bucket: str, tmp_path: Path) -> None:
    folder = f"{bucket}/days/"
    for day in range(4):
        written(f"{folder}day={day}/a.staffa", pa.table({"n": [day * 10 + i for i in range(10)]}), tmp_path)
    done = program("index", folder)
    assert "4 files of 40 rows" in done.stdout, done.stderr
    assert staffa.dataset(folder).to_table(filter="day = 2")["n"].to_pylist() == list(range(20, 30))
    (tmp_path / "more.csv").write_text("n,day\n100,2\n101,9\n")
    done = program("append", folder, str(tmp_path / "more.csv"))
    assert "2 new rows in 2 files" in done.stderr
    # The index is older than two of the files.
    assert sorted(staffa.read_table(folder)["n"].to_pylist()) == [*range(40), 100, 101]
    assert program("count", "--where", "day = 9", folder).stdout.splitlines()[-1].split()[0] == "1"
    done = program("compact", folder, "--to", f"{bucket}/large/", "--sort", "n desc")
    assert done.returncode == 0, done.stderr
    assert staffa.read_table(f"{bucket}/large/", filter="day = 2")["n"].to_pylist() == [100, *range(29, 19, -1)]
    done = program("compact", folder, "--to", f"{folder}large/")
    assert (done.returncode, "twice" in done.stderr) == (2, True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_requests_are_made_after_a_fork(bucket: str, tmp_path: Path) -> None:
    url = f"{bucket}/forked.staffa"
    written(url, pa.table({"n": range(50_000)}), tmp_path)
    file = staffa.open(url)
    assert file.num_rows == 50_000
    child = os.fork()
    if child == 0:
        last = [each["n"].to_pylist()[-1] for each in (staffa.read_table(url), file.to_table())]
        os._exit(0 if last == [49_999, 49_999] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("call", ["staffa.open(url)", "staffa.write_table({'n': [1]}, url, overwrite=True)"])
def test_interrupt_ends_a_wait(call: str) -> None:
    """Ctrl-C while a server does not answer: the exception comes at once, not after the retries."""
    program = f"""
import os, signal, socket, threading, time
import staffa

signal.signal(signal.SIGINT, signal.default_int_handler)
silent = socket.create_server(("127.0.0.1", 0))
threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()
start = time.monotonic()
try:
    url = f"http://127.0.0.1:{{silent.getsockname()[1]}}/table.staffa"
    {call}
except KeyboardInterrupt:
    print("interrupted" if time.monotonic() - start < 5 else "late")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


# Reads an object; what of it was asked for.
_READ = """
import sys, staffa
rows = staffa.open(sys.argv[1]).to_table(sys.argv[2:] or None)
info = staffa.disk_cache_info()
print(rows.num_rows, sum(rows["n"].to_pylist()), info.hits, info.misses, info.miss_bytes)
"""


def reads(folder: Path, url: str, *columns: str, at_once: int = 1) -> list[list[int]]:
    """Rows, sum of `n`, hits, misses and bytes asked for, of processes that share a cache."""
    environment = os.environ | {"STAFFA_DISK_CACHE": f"{folder}=1 GB"}
    command = [sys.executable, "-c", _READ, url, *columns]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        for _ in range(at_once)
    ]
    found = []
    for process in running:
        out, error = process.communicate(timeout=60)
        assert process.returncode == 0, error
        found.append([int(number) for number in out.split()])
    return found


def incompressible(seed: int) -> pa.Table:
    random = Random(seed)
    return pa.table({name: [random.getrandbits(40) for _ in range(40_000)] for name in ("n", "m")})


def test_the_next_process_asks_for_no_data(bucket: str, tmp_path: Path) -> None:
    url, folder, table = f"{bucket}/cached/t.staffa", tmp_path / "cache", incompressible(1)
    expected = [40_000, sum(table["n"].to_pylist())]
    staffa.write_table(table, url)
    first, second = reads(folder, url)[0], reads(folder, url)[0]
    assert first[:2] == second[:2] == expected
    assert first[3] > 0
    assert first[4] > 300_000
    assert second[3:] == [0, 0]
    # Another column reads what is there, and the rest.
    staffa.write_table(table, url, overwrite=True, row_group_rows=10_000)
    assert reads(folder, url, "n")[0][:2] == expected
    assert reads(folder, url)[0][:2] == expected
    # The object is another one.
    other = incompressible(2)
    staffa.write_table(other, url, overwrite=True)
    assert reads(folder, url)[0][:2] == [40_000, sum(other["n"].to_pylist())]
    shared = reads(tmp_path / "shared", url, at_once=2)
    assert [found[:2] for found in shared] == 2 * [[40_000, sum(other["n"].to_pylist())]]
    assert reads(tmp_path / "shared", url)[0][3:] == [0, 0]


def test_a_damaged_disk_cache_is_a_miss(bucket: str, tmp_path: Path) -> None:
    url, folder, table = f"{bucket}/cached/d.staffa", tmp_path / "cache", incompressible(3)
    expected = [40_000, sum(table["n"].to_pylist())]
    staffa.write_table(table, url)
    reads(folder, url)

    def files() -> list[Path]:
        return [path for path in folder.rglob("*") if path.is_file()]

    for damage in (lambda b: b[:-100], lambda b: b[:200] + bytes([b[200] ^ 4]) + b[201:], lambda b: b""):
        for path in files():
            path.write_bytes(damage(path.read_bytes() + bytes(300)))
        found = reads(folder, url)[0]
        assert found[:2] == expected
        assert found[3] > 0
    assert reads(folder, url)[0][3:] == [0, 0]


def test_the_disk_cache_is_set_and_counted(bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url, table = f"{bucket}/cached/s.staffa", incompressible(4)
    staffa.write_table(table, url)
    try:
        staffa.set_disk_cache(tmp_path / "cache", 1 << 30)
        assert staffa.open(url).to_table() == table
        first = staffa.disk_cache_info()
        assert staffa.dataset(f"{bucket}/cached/s.*").to_table() == table
        second = staffa.disk_cache_info()
        assert first is not None
        assert second is not None
        assert second.miss_bytes == first.miss_bytes > 300_000
        assert second.hit_bytes > 300_000
        assert first.nbytes < second.max_bytes == 1 << 30
        (tmp_path / "file").write_text("no folder")
        with pytest.raises(OSError, match="file"):
            staffa.set_disk_cache(tmp_path / "file")
        with pytest.raises(staffa.InvalidArgumentError, match="bytes must be"):
            staffa.set_disk_cache(tmp_path, -1)
    finally:
        staffa.set_disk_cache(None)
    assert staffa.disk_cache_info() is None
    monkeypatch.setenv("STAFFA_DISK_CACHE", f"{tmp_path}/by_program")
    for _ in range(2):
        found = program("cat", "--csv", "--limit", "1", url)
        assert found.stdout.splitlines()[1] == ",".join(str(column[0]) for column in table)
    assert any(path.is_file() for path in (tmp_path / "by_program" / "1").rglob("*"))
    monkeypatch.setenv("STAFFA_DISK_CACHE", f"{tmp_path}/file")
    done = program("count", url)
    assert done.returncode != 0
    assert "STAFFA_DISK_CACHE" in done.stderr
