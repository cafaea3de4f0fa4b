/* Reads a file by the program's own functions, as from an object store: it is told which ranges come next. Then the
 * store fails, and the error says why.
 *
 * cc source.c -I ../../crates/staffa-c/include -L ../../target/debug -lstaffa_c -o source */
#include "prices.h"

/* A store of the program: a FILE here. */
struct Store {
  FILE *file;
  uint64_t bytes_read;
  size_t ranges_told;
  int broken;
};

static int64_t store_read(void *context, uint64_t offset, uint64_t len, uint8_t *out) {
  struct Store *store = context;
  if (store->broken) return -STAFFA_CODE_IO;
  if (fseek(store->file, (long)offset, SEEK_SET) != 0) return -STAFFA_CODE_IO;
  store->bytes_read += len;
  return (int64_t)fread(out, 1, (size_t)len, store->file);
}

static void store_begin(void *context, const StaffaRange *ranges, size_t count) {
  (void)ranges; /* A store on the network would fetch them now, together. */
  ((struct Store *)context)->ranges_told += count;
}

static const char *store_error(void *context) { return ((struct Store *)context)->broken ? "503 Slow Down" : NULL; }

static void store_release(void *context) { fclose(((struct Store *)context)->file); }

static void write_prices(const char *path) {
  StaffaError *error = NULL;
  struct ArrowSchema schema;
  struct ArrowArray batch;
  StaffaWriter *writer = NULL;
  prices_schema(&schema);
  prices_batch(0, 100000, &batch);
  check(staffa_writer_create(path, &schema, NULL, NULL, &writer, &error), error);
  check(staffa_writer_write(writer, &batch, &error), error);
  check(staffa_writer_finish(writer, NULL, &error), error);
  staffa_writer_free(writer);
}

int main(void) {
  write_prices("prices.staffa");
  struct Store store = {.file = fopen("prices.staffa", "rb")};
  if (store.file == NULL || fseek(store.file, 0, SEEK_END) != 0) return 1;
  StaffaSource source = {
      .size = sizeof source,
      .context = &store,
      .name = "store://bucket/prices.staffa",
      .len = (uint64_t)ftell(store.file),
      .read = store_read,
      .begin = store_begin,
      .last_error = store_error,
      .release = store_release,
  };
  StaffaError *error = NULL;
  StaffaFile *file = NULL;
  check(staffa_file_open_source(&source, NULL, &file, &error), error);

  uint64_t rows[] = {70000, 3, 70000};
  const char *const columns[] = {"n"};
  struct ArrowSchema schema;
  struct ArrowArray batch;
  check(staffa_file_take(file, rows, 3, columns, 1, &schema, &batch, &error), error);
  const int64_t *n = (const int64_t *)batch.children[0]->buffers[1] + batch.children[0]->offset;
  printf("rows %lld, %lld, %lld by %llu bytes\n", (long long)n[0], (long long)n[1], (long long)n[2],
         (unsigned long long)store.bytes_read);
  int right = n[0] == 70000 && n[1] == 3 && n[2] == 70000;
  batch.release(&batch);
  schema.release(&schema);

  struct Store broken = {.file = fopen("prices.staffa", "rb"), .broken = 1};
  if (broken.file == NULL) return 1;
  source.context = &broken;
  StaffaFile *none = NULL;
  StaffaCode code = staffa_file_open_source(&source, NULL, &none, &error);
  printf("code %d: %s\n", (int)code, staffa_error_message(error));
  right = right && code == STAFFA_CODE_IO && strstr(staffa_error_message(error), "503 Slow Down") != NULL;
  staffa_error_free(error);
  staffa_file_free(file);
  return right ? 0 : 1;
}
