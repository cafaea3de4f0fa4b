/* Scans a file: two columns of the rows that match, split by split, as Arrow arrays.
 *
 * cc scan.c -I ../../crates/staffa-c/include -L ../../target/debug -lstaffa_c -o scan */
#include <inttypes.h>

#include "prices.h"

static void write_prices(const char *path) {
  StaffaError *error = NULL;
  StaffaOptions *options = staffa_options_new();
  check(staffa_options_set(options, "row_group_rows", "100000", &error), error);
  struct ArrowSchema schema;
  struct ArrowArray batch;
  StaffaWriter *writer = NULL;
  prices_schema(&schema);
  prices_batch(0, 250000, &batch);
  check(staffa_writer_create(path, &schema, options, NULL, &writer, &error), error);
  check(staffa_writer_write(writer, &batch, &error), error);
  check(staffa_writer_finish(writer, NULL, &error), error);
  staffa_writer_free(writer);
  staffa_options_free(options);
}

/* price > 200 and city = 'Iona' and n >= 120000 */
static StaffaPredicate *make_filter(void) {
  StaffaError *error = NULL;
  StaffaPredicate *parts[3], *all = NULL;
  check(staffa_predicate_compare_double("price", STAFFA_COMPARE_GT, 200, &parts[0], &error), error);
  check(staffa_predicate_compare_text("city", STAFFA_COMPARE_EQ, "Iona", &parts[1], &error), error);
  check(staffa_predicate_compare_int("n", STAFFA_COMPARE_GT_EQ, 120000, &parts[2], &error), error);
  check(staffa_predicate_and((const StaffaPredicate *const *)parts, 3, &all, &error), error);
  for (int i = 0; i < 3; i++) staffa_predicate_free(parts[i]);
  return all;
}

/* Reads one split on this thread; returns its rows, and adds its prices to a sum. */
static int64_t read_split(StaffaScan *scan, double *sum) {
  StaffaError *error = NULL;
  struct ArrowArrayStream stream;
  check(staffa_scan_stream(scan, &stream, &error), error);
  int64_t rows = 0;
  for (;;) {
    struct ArrowArray batch;
    int code = stream.get_next(&stream, &batch);
    if (code != 0) {
      fprintf(stderr, "error %d: %s\n", code, stream.get_last_error(&stream));
      exit(1);
    }
    if (batch.release == NULL) break;
    const struct ArrowArray *price = batch.children[0], *row = batch.children[1];
    const double *prices = (const double *)price->buffers[1] + price->offset;
    const int64_t *numbers = (const int64_t *)row->buffers[1] + row->offset;
    for (int64_t i = 0; i < batch.length; i++) {
      if (numbers[i] < 120000) exit(1);
      *sum += prices[i];
    }
    rows += batch.length;
    batch.release(&batch);
  }
  stream.release(&stream);
  return rows;
}

int main(void) {
  if (staffa_abi_version() != STAFFA_ABI_VERSION) return 1;
  write_prices("prices.staffa");
  StaffaError *error = NULL;
  StaffaFile *file = NULL;
  check(staffa_file_open("prices.staffa", NULL, &file, &error), error);

  /* What a planner asks: columns, and shares of the work. The filter leaves the first row group out. */
  StaffaStatistics *statistics = NULL;
  check(staffa_file_statistics(file, &statistics, &error), error);
  for (size_t i = 0; i < staffa_statistics_len(statistics); i++) {
    StaffaColumnStatistics column = {.size = sizeof column};
    check(staffa_statistics_get(statistics, i, &column, &error), error);
    printf("%s: %s to %s, %" PRIu64 " NULLs\n", column.path, column.min, column.max, column.nulls);
  }
  staffa_statistics_free(statistics);
  StaffaPredicate *filter = make_filter();
  char text[100];
  staffa_predicate_text(filter, text, sizeof text);
  printf("%s\n", text);
  StaffaScan *plan = NULL;
  check(staffa_scan_new(file, &plan, &error), error);
  check(staffa_scan_filter(plan, filter, &error), error);
  StaffaSplits *splits = NULL;
  check(staffa_scan_splits(plan, SIZE_MAX, &splits, &error), error);
  staffa_scan_free(plan);

  /* What workers do, each with the rows of its split; here one after another. */
  int64_t rows = 0;
  double sum = 0;
  const char *const columns[] = {"price"};
  for (size_t i = 0; i < staffa_splits_len(splits); i++) {
    StaffaSplit split = {.size = sizeof split};
    check(staffa_splits_get(splits, i, &split, &error), error);
    StaffaScan *scan = NULL;
    check(staffa_scan_new(file, &scan, &error), error);
    check(staffa_scan_columns(scan, columns, 1, &error), error);
    check(staffa_scan_filter(scan, filter, &error), error);
    check(staffa_scan_row_numbers(scan, "row", &error), error);
    check(staffa_scan_batch_rows(scan, 4096, &error), error);
    check(staffa_scan_add_split(scan, split.first_row, split.rows, &error), error);
    rows += read_split(scan, &sum);
    staffa_scan_free(scan);
  }
  printf("%zu splits, %" PRId64 " rows, prices of %.2f\n", staffa_splits_len(splits), rows, sum);
  size_t count = staffa_splits_len(splits);
  staffa_splits_free(splits);
  staffa_predicate_free(filter);
  staffa_file_free(file);

  int64_t expected = 0;
  for (int64_t row = 120000; row < 250000; row++) expected += row % 3 == 2 && row % 10 != 9 && row % 1000 > 800;
  return rows == expected && count == 2 ? 0 : 1;
}
