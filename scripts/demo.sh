#!/bin/sh
# Converts the tables in testdata/tables, compares each with Parquet, shows encodings of columns, runs a query.
# STAFFA is the program, OUT the folder for its files; `make demo` sets both.
set -eu

cd "$(dirname "$0")/.."
STAFFA=${STAFFA:-target/release/staffa}
OUT=${OUT:-target/demo}
mkdir -p "$OUT"

# The value of a key on the first level of the JSON on standard input.
value() {
    tr '{,' '\n\n' | sed -n "s/^ *\"$1\": *\"\{0,1\}\([^\"}]*\)\"\{0,1\}[ }]*\$/\1/p" | head -n 1
}

echo "Real tables, converted to Staffa and back, compared with Parquet (Zstandard, level 3)."
echo "Sizes in bytes. Speeds of one core, in memory, in bytes of Arrow per second. This program is built in a hurry:"
echo "one of 'cargo build --release' writes and scans faster."
echo
line='%-22s %9s %12s %12s %12s %11s %10s %10s  %s\n'
# shellcheck disable=SC2059 # the format is ours
printf "$line" table rows Arrow Staffa Parquet 'of Parquet' write scan ''
for source in testdata/tables/*.parquet; do
    name=$(basename "$source" .parquet)
    "$STAFFA" convert "$source" "$OUT/$name.staffa" --force --quiet
    "$STAFFA" bench "$source" --runs 3 --json >"$OUT/$name.json"
    staffa=$(value staffa_bytes <"$OUT/$name.json")
    parquet=$(value parquet_zstd3_bytes <"$OUT/$name.json")
    write=$(value staffa_write_mb_per_s <"$OUT/$name.json")
    scan=$(value staffa_scan_gb_per_s <"$OUT/$name.json")
    verified=$(value verified <"$OUT/$name.json")
    # shellcheck disable=SC2059
    printf "$line" "$name" "$(value rows <"$OUT/$name.json")" "$(value arrow_bytes <"$OUT/$name.json")" \
        "$staffa" "$parquet" \
        "$(awk "BEGIN { printf \"%.0f%%\", 100 * $staffa / $parquet }")" \
        "$(awk "BEGIN { printf \"%.0f MB/s\", $write }")" \
        "$(awk "BEGIN { printf \"%.2f GB/s\", $scan }")" \
        "$([ "$verified" = true ] && echo verified || echo DIFFERENT)"
    "$STAFFA" verify "$OUT/$name.staffa" >/dev/null
done

run() {
    echo
    printf '$ staffa'
    for word in "$@"; do
        case $word in
            *" "*) printf ' "%s"' "$word" ;;
            *) printf ' %s' "$word" ;;
        esac
    done
    echo
    "$STAFFA" "$@"
}

run explain "$OUT/flights_nyc13.staffa" --column carrier
run explain "$OUT/flights_nyc13.staffa" --column sched_dep_time
run explain "$OUT/sec_num.staffa" --column value
run head "$OUT/soccer_international.staffa" -n 5 --columns date,home_team,home_score,away_score,away_team,city \
    --where "home_score >= 8 and country = 'Scotland'"
echo
echo "The files are in $OUT. Next: $STAFFA --help"
