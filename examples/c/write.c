/* Writes a table to a file, batch by batch, and to memory by a sink; reads both back.
 *
 * cc write.c -I ../../crates/staffa-c/include -L ../../target/debug -lstaffa_c -o write */
#include "prices.h"

static void write_all(StaffaWriter *writer) {
  StaffaError *error = NULL;
  for (int64_t first = 0; first < 200000; first += 50000) {
    struct ArrowArray batch;
    prices_batch(first, 50000, &batch);
    /* The library takes the batch over: it has released it when the call returns. */
    check(staffa_writer_write(writer, &batch, &error), error);
  }
  static const uint8_t source[] = "survey";
  check(staffa_writer_set_metadata(writer, "source", source, strlen("survey"), &error), error);
  StaffaWriteSummary summary = {.size = sizeof summary};
  check(staffa_writer_finish(writer, &summary, &error), error);
  printf("%llu rows in %llu bytes\n", (unsigned long long)summary.rows, (unsigned long long)summary.file_bytes);
  staffa_writer_free(writer);
}

/* Memory that grows. */
struct Memory {
  uint8_t *bytes;
  size_t len;
};

static int32_t memory_write(void *context, const uint8_t *bytes, size_t len) {
  struct Memory *memory = context;
  uint8_t *grown = realloc(memory->bytes, memory->len + len);
  if (grown == NULL) return STAFFA_CODE_LIMIT;
  memcpy(grown + memory->len, bytes, len);
  memory->bytes = grown;
  memory->len += len;
  return 0;
}

static void free_memory(void *bytes) { free(bytes); }

static uint64_t rows_and_free(StaffaFile *file) {
  StaffaError *error = NULL;
  StaffaFileInfo info = {.size = sizeof info};
  check(staffa_file_info(file, &info, &error), error);
  check(staffa_file_verify(file, 1, NULL, &error), error);
  staffa_file_free(file);
  return info.rows;
}

int main(void) {
  StaffaError *error = NULL;
  StaffaOptions *options = staffa_options_new();
  check(staffa_options_set(options, "profile", "small", &error), error);
  check(staffa_options_set(options, "sort_order", "n", &error), error);
  check(staffa_options_set_column(options, "price", "max_error", "0.01", &error), error);

  struct ArrowSchema schema;
  StaffaWriter *writer = NULL;
  prices_schema(&schema);
  check(staffa_writer_create("prices.staffa", &schema, options, NULL, &writer, &error), error);
  write_all(writer);
  StaffaFile *file = NULL;
  check(staffa_file_open("prices.staffa", NULL, &file, &error), error);
  if (rows_and_free(file) != 200000) return 1;

  struct Memory memory = {0};
  StaffaSink sink = {.size = sizeof sink, .context = &memory, .name = "memory", .write = memory_write};
  prices_schema(&schema);
  check(staffa_writer_create_sink(&sink, &schema, options, NULL, &writer, &error), error);
  staffa_options_free(options);
  write_all(writer);
  /* The file has the memory from here on, and frees it. */
  check(staffa_file_open_bytes(memory.bytes, memory.len, free_memory, memory.bytes, NULL, &file, &error), error);
  return rows_and_free(file) == 200000 ? 0 : 1;
}
