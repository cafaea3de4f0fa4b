# One command each. `make` alone lists them.

CARGO ?= cargo
PYTHON ?= $(shell command -v python3.11 || command -v python3)
# Absolute, because the build of the extension runs in several folders.
VENV := $(CURDIR)/.venv
BIN := $(VENV)/bin
FUZZ_SECONDS ?= 600
# What cargo makes of crates/staffa-duckdb and of crates/staffa-python.
DUCKDB_LIBRARY = libstaffa_duckdb.$(SUFFIX)
PYTHON_LIBRARY = lib_staffa.$(SUFFIX)
# What wheels are for, by Rust's name; and the program without a C library of the system.
TARGET ?= $(shell rustc -vV | sed -n 's/^host: //p')
MACHINE = $(firstword $(subst -, ,$(TARGET)))
MUSL = $(MACHINE)-unknown-linux-musl
SUFFIX = $(if $(filter Darwin,$(shell uname)),dylib,so)
# Where cargo builds; another folder may be set outside.
CARGO_TARGET_DIR ?= target
export CARGO_TARGET_DIR
export PATH := $(abspath $(CARGO_TARGET_DIR))/tools/bin:$(BIN):$(PATH)
# The extension module is checked and built for this interpreter, which loads it: both are what maturin sets as well.
export PYO3_PYTHON = $(BIN)/python
export PYO3_BUILD_EXTENSION_MODULE = 1

.DEFAULT_GOAL := help
.PHONY: help demo test dist-test dist-venv test-rust test-datafusion test-python extension duckdb spark spark-test spark-wheel check lint fmt wheel program c c-header c-test docs rustdoc bench fuzz asan arm venv clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## convert, measure and query the tables in testdata/tables (no Python needed)
	$(CARGO) build --profile quick -p staffa-cli --no-default-features
	STAFFA="$(CARGO_TARGET_DIR)/quick/staffa" OUT="$(CARGO_TARGET_DIR)/demo" sh scripts/demo.sh

test: test-rust test-python ## all tests: Rust with its examples, then Python with its examples

# Always the whole workspace: a selection of packages has features of its own, and dependencies built for it alone.
test-rust: venv ## the tests of the Rust crates, with their examples
	$(CARGO) test --workspace --locked

# The same features as for all tests, so that nothing is built again.
test-datafusion: venv ## the tests of staffa-datafusion and staffa-sql alone
	$(CARGO) test --workspace --locked --test datafusion --example table

test-python: extension ## the tests of the Python package, with its examples
	$(BIN)/python -m pytest

# With an example cargo resolves features as for tests, and builds no dependency again.
extension: venv ## build the Python package for the tests, DuckDB's extension included
	$(CARGO) build --workspace --lib --example write --locked --quiet
	cp "$(CARGO_TARGET_DIR)/debug/$(PYTHON_LIBRARY)" python/staffa/_staffa.abi3.so.part
	mv python/staffa/_staffa.abi3.so.part python/staffa/_staffa.abi3.so
	$(EXTENSION)

# DuckDB loads it out of the package's own library.
EXTENSION = $(BIN)/python scripts/duckdb_extension.py --beside _staffa.abi3.so python/staffa/staffa.duckdb_extension $(TARGET)

duckdb: venv ## the DuckDB extension by itself, for DuckDB outside of Python, into dist/
	$(CARGO) build --release --locked -p staffa-duckdb
	mkdir -p dist
	$(BIN)/python scripts/duckdb_extension.py "$(CARGO_TARGET_DIR)/release/$(DUCKDB_LIBRARY)" dist/staffa.duckdb_extension

# The data source for Spark, compiled by the Scala compiler that Spark carries; Maven finds arrow-c-data by its coordinates.
SPARK_VENV := $(CURDIR)/.venv-spark
SPARK_BIN := $(SPARK_VENV)/bin
ARROW_C_DATA_VERSION = 19.0.0
ARROW_C_DATA = $(abspath $(CARGO_TARGET_DIR))/spark/arrow-c-data-$(ARROW_C_DATA_VERSION).jar
JNI_LIBRARY = libstaffa_jni.$(SUFFIX)
SPARK_JAR = jvm/python/staffa/spark/staffa-spark.jar
SPARK_JARS = $(SPARK_BIN)/python scripts/spark_jar.py "$$($(SPARK_BIN)/python -c \
	'import pyspark; print(pyspark.__path__[0])')" "$(ARROW_C_DATA)"

spark: $(SPARK_VENV)/.ready $(ARROW_C_DATA) ## the jar for Spark, with its native library (needs JDK 17 and Maven)
	$(CARGO) build --release --locked -p staffa-jni
	$(SPARK_JARS) "$(CARGO_TARGET_DIR)/release/$(JNI_LIBRARY)" $(SPARK_JAR)

# Its own jar, of the library as tests build it.
spark-test: $(SPARK_VENV)/.ready $(ARROW_C_DATA) ## the tests of the Spark data source; starts and stops Spark itself
	$(CARGO) build --locked -p staffa-jni
	$(SPARK_JARS) "$(CARGO_TARGET_DIR)/debug/$(JNI_LIBRARY)" "$(abspath $(CARGO_TARGET_DIR))/spark/staffa-spark.jar"
	STAFFA_SPARK_JAR="$(abspath $(CARGO_TARGET_DIR))/spark/staffa-spark.jar" $(SPARK_BIN)/python -m pytest -c jvm/pytest.ini jvm/tests

spark-wheel: spark ## the wheel staffa-spark, into dist/
	$(SPARK_BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist \
		--config-settings="--build-option=--plat-name=$(shell $(PYTHON) -c \
		'import sysconfig; print(sysconfig.get_platform())')" jvm/python

check: lint test docs ## everything that must pass: formatting, lints, documentation, licences, tests

lint: venv rustdoc ## formatting, lints, documentation, licences
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path fuzz/Cargo.toml --check
	$(CARGO) fmt --manifest-path bench/experiments/Cargo.toml --check
	$(CARGO) fmt --manifest-path examples/distributed/Cargo.toml --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m doctest scripts/licences.py scripts/duckdb_extension.py scripts/docs_site.py scripts/docs_doctests.py \
		scripts/spark_jar.py
	$(BIN)/python scripts/licences.py

fmt: venv ## format all code
	$(CARGO) fmt --all
	$(CARGO) fmt --manifest-path fuzz/Cargo.toml
	$(CARGO) fmt --manifest-path bench/experiments/Cargo.toml
	$(CARGO) fmt --manifest-path examples/distributed/Cargo.toml
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

# Zig links wheels for Linux, against a glibc as old as RHEL 8's, and for other processors than this one alike.
wheel: venv $(VENV)/.release ## a wheel, into dist/ (TARGET=aarch64-unknown-linux-gnu for another platform)
ifneq (,$(findstring linux,$(TARGET)))
	$(BY_ZIG) CC=$(CURDIR)/scripts/zigcc $(EXTENSION)
	$(BY_ZIG) $(BIN)/maturin build --release --locked --compatibility manylinux_2_28 --target $(TARGET) \
		--compression-level 9 --out dist
else
	$(EXTENSION)
	$(BIN)/maturin build --release --locked --compression-level 9 --out dist
endif
BY_ZIG = ZIG_TARGET=$(MACHINE)-linux-gnu.2.28 CC_$(subst -,_,$(TARGET))=$(CURDIR)/scripts/zigcc \
	CARGO_TARGET_$(shell echo $(TARGET) | tr a-z- A-Z_)_LINKER=$(CURDIR)/scripts/zigcc

# musl instead of glibc, so that it runs on any Linux. Zig compiles C; lld folds functions that are equal, and packs
# relocations, which Zig's linker does not.
program: venv $(VENV)/.release ## the program for Linux as one static file, into dist/
	rustup target add $(MUSL)
	ZIG_TARGET=$(MACHINE)-linux-musl CC_$(subst -,_,$(MUSL))=$(CURDIR)/scripts/zigcc \
		$(CARGO) build --profile program --locked -p staffa-cli --target $(MUSL) --config 'target.$(MUSL).linker="rust-lld"' \
		--config 'target.$(MUSL).rustflags=["-Clink-arg=--icf=all", "-Clink-arg=--pack-dyn-relocs=relr"]'
	mkdir -p dist
	cp "$(CARGO_TARGET_DIR)/$(MUSL)/program/staffa" dist/staffa-$(MACHINE)-linux

c: ## the C library and its header, into dist/c
	$(CARGO) build --release --locked -p staffa-c
	mkdir -p dist/c/include dist/c/lib/pkgconfig
	cp crates/staffa-c/include/staffa.h dist/c/include
	cp "$(CARGO_TARGET_DIR)/release/libstaffa_c.a" "$(CARGO_TARGET_DIR)/release/libstaffa_c.$(SUFFIX)" dist/c/lib
	sed "s/@VERSION@/$$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)/" crates/staffa-c/staffa.pc.in \
		>dist/c/lib/pkgconfig/staffa.pc

c-header: ## write staffa.h again after a change of the C interface
	STAFFA_HEADER=write $(CARGO) test --locked -p staffa-c --test header

c-test: ## the C and Go programs in examples, and the C interface's tests, under AddressSanitizer
	CARGO="$(CARGO)" sh scripts/c_test.sh

# The pages of rustdoc stand beside the others; those of other crates in the same folder are left out.
docs: venv $(VENV)/.docs rustdoc ## the documentation, into target/docs: open target/docs/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir "$(abspath $(CARGO_TARGET_DIR))/docs"
	mkdir -p "$(CARGO_TARGET_DIR)/docs/rust/src"
	cd "$(CARGO_TARGET_DIR)/doc" && cp -R *.html *.js static.files search.index trait.impl type.impl staffa ../docs/rust
	cp -R "$(CARGO_TARGET_DIR)/doc/src/staffa" "$(CARGO_TARGET_DIR)/docs/rust/src"

rustdoc: ## the reference of the crates, into target/doc
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --lib --example write --no-deps --locked

bench: ## measure the kernels, then whole tables against Parquet
	$(CARGO) bench -p staffa-kernels --bench '*'
	$(CARGO) build --release -p staffa-cli
	for table in testdata/tables/*.parquet; do "$(CARGO_TARGET_DIR)/release/staffa" bench "$$table" || exit 1; done

# Zstd's C is left without the sanitizer: the C compiler's and Rust's do not agree on where globals end.
fuzz: ## read hostile bytes for ten minutes (FUZZ_SECONDS=600); needs a nightly toolchain
	command -v cargo-fuzz >/dev/null || $(CARGO) install cargo-fuzz --locked --root $(CARGO_TARGET_DIR)/tools
	CFLAGS=-fno-sanitize=address $(CARGO) +nightly fuzz run read -- -max_total_time=$(FUZZ_SECONDS)

# Tests of the kernels only: they hold all unsafe code but that of crates/staffa-c, for which there is c-test, and the
# borders of crates/staffa-duckdb and crates/staffa-jni, which the tests of Python and of Spark run. The standard library is not instrumented, their memory is.
asan: ## the tests of the kernels under AddressSanitizer; needs a nightly toolchain
	RUSTFLAGS=-Zsanitizer=address $(CARGO) +nightly test -p staffa-kernels --lib --tests \
		--target x86_64-unknown-linux-gnu --target-dir $(CARGO_TARGET_DIR)/asan

# Debian: qemu-user, gcc-aarch64-linux-gnu; rustup target add aarch64-unknown-linux-gnu
arm: ## the tests of the kernels for 64-bit ARM, under emulation where this machine is another
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu" \
		$(CARGO) test -p staffa-kernels --lib --tests --target aarch64-unknown-linux-gnu

# Apart from `test`: the engines take 2 GB, and Spark a JDK.
DIST ?= $(CURDIR)/.venv-dist
dist-test: extension $(DIST)/.ready ## Ray, Daft, Dask and Spark from Python (DIST=/path of another environment; Spark needs a JDK)
	$(DIST)/bin/python -m pytest -W default python/tests/test_distributed.py
	@if command -v java >/dev/null; then $(DIST)/bin/python -m pytest -W default python/tests/test_spark_source.py; \
	else echo "Spark's tests are skipped: no JDK is on the path"; fi

dist-venv: $(DIST)/.ready ## the environment of dist-test

$(DIST)/.ready: python/requirements-dist.txt
	$(PYTHON) -m venv $(DIST)
	$(DIST)/bin/python -m pip install --quiet --disable-pip-version-check --requirement python/requirements-dist.txt
	echo "$(CURDIR)/python" >"$$($(DIST)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/staffa.pth"
	touch $@

venv: $(VENV)/.ready ## the Python environment of the project, .venv

$(VENV)/.ready: python/requirements-dev.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement python/requirements-dev.txt
	echo "$(CURDIR)/python" >"$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/staffa.pth"
	touch $@

$(SPARK_VENV)/.ready: jvm/requirements.txt
	@command -v java >/dev/null && command -v mvn >/dev/null || \
		{ echo "Spark needs JDK 17 and Maven: java and mvn on the path"; exit 1; }
	$(PYTHON) -m venv $(SPARK_VENV)
	$(SPARK_BIN)/python -m pip install --quiet --disable-pip-version-check --requirement jvm/requirements.txt
	touch $@

$(ARROW_C_DATA):
	mvn --quiet --batch-mode org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
		-Dartifact=org.apache.arrow:arrow-c-data:$(ARROW_C_DATA_VERSION) -DoutputDirectory="$(dir $@)"
	test -f "$@"

$(VENV)/.docs: docs/requirements.txt $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement docs/requirements.txt
	touch $@

$(VENV)/.release: python/requirements-release.txt $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement python/requirements-release.txt
	touch $@

clean: ## remove what was built
	rm -rf "$(CARGO_TARGET_DIR)" $(VENV) $(SPARK_VENV) dist $(SPARK_JAR) python/staffa/*.so python/staffa/*.duckdb_extension
