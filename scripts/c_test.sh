#!/bin/sh
# The C interface under AddressSanitizer, which finds leaks as well: the programs of examples/c compiled with it, and, where
# a nightly toolchain is there, the tests of crates/staffa-c with all of Rust's code. Then the Go program, where Go is.
set -eu
cd "$(dirname "$0")/.."
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
: "${CARGO:=cargo}" "${CC:=cc}"
library="$target/debug"
out="$target/c-test"
mkdir -p "$out"

# The same profile as for all tests.
$CARGO build --locked -p staffa-c
for source in examples/c/*.c; do
    name=$(basename "$source" .c)
    $CC -std=c11 -Wall -Wextra -Werror -pedantic -g -fsanitize=address,undefined -fno-sanitize-recover=all \
        "$source" -I crates/staffa-c/include -L "$library" -lstaffa_c -Wl,-rpath,"$library" -o "$out/$name"
    (cd "$out" && "./$name")
done

if command -v valgrind >/dev/null; then
    $CC -std=c11 -g examples/c/source.c -I crates/staffa-c/include -L "$library" -lstaffa_c -Wl,-rpath,"$library" \
        -o "$out/source-plain"
    (cd "$out" && valgrind --quiet --leak-check=full --errors-for-leak-kinds=definite --error-exitcode=9 ./source-plain)
else
    echo "skipped: valgrind is not there"
fi

# Rust's standard library is not instrumented, its memory is. Zstd's C is left without: see `make fuzz`.
if $CARGO +nightly --version >/dev/null 2>&1; then
    CFLAGS=-fno-sanitize=address RUSTFLAGS=-Zsanitizer=address $CARGO +nightly test --locked -p staffa-c --test c \
        --target x86_64-unknown-linux-gnu --target-dir "$target/asan" -- --skip examples
else
    echo "skipped: the tests of Rust under AddressSanitizer need a nightly toolchain"
fi

if command -v go >/dev/null; then
    (cd examples/go && CGO_LDFLAGS="-L$library -Wl,-rpath,$library" GOTOOLCHAIN=local go run -asan .)
else
    echo "skipped: Go is not there"
fi
