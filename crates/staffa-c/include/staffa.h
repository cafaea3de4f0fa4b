/* Staffa: an open columnar file format. The C interface; docs/guides/c.md shows it at work.
 *
 * - A function that can fail returns a StaffaCode, STAFFA_CODE_OK where it worked, and takes a place for a StaffaError
 *   last, which may be NULL. After a failure the place holds an error with the text, to be freed by
 *   staffa_error_free; after success NULL.
 * - Whoever gets a handle frees it, once, by the function of its kind; NULL is ignored. After a failure the place for
 *   a handle holds NULL. Handles that are arguments are borrowed for the call, unless a function says otherwise.
 * - Arguments that are NULL where they may not be are errors. Other pointers must point to what their type says.
 * - Text is UTF-8 and ends with a NUL.
 * - Structs that begin with `size` may have more fields in later versions. The caller sets `size` to sizeof.
 * - Schemas, arrays and streams are those of Arrow's C data interface. Those that the library gets are moved: it
 *   releases them, whatever the call returns. Those that it gives are released by the caller.
 * - Threads may share a StaffaFile, a StaffaPredicate, StaffaOptions that nobody sets, a StaffaCancel and StaffaMetrics. Any other
 *   handle, and a stream, is used by one thread at a time, whichever that is.
 * - No thread but the caller's works, unless the caller asks for more.
 *
 * Generated from crates/staffa-c by cbindgen. */

#ifndef STAFFA_H
#define STAFFA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Arrow's C data interface, as its specification has it. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
  const char *format;
  const char *name;
  const char *metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema **children;
  struct ArrowSchema *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void **buffers;
  struct ArrowArray **children;
  struct ArrowArray *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
  int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
  const char *(*get_last_error)(struct ArrowArrayStream *);
  void (*release)(struct ArrowArrayStream *);
  void *private_data;
};

#endif

/**
 * The version of the interface that this header describes; compare it with `staffa_abi_version()`.
 */
#define STAFFA_ABI_VERSION 1

/**
 * What a function returns: `STAFFA_CODE_OK`, or why it failed.
 */
enum StaffaCode
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * It worked.
   */
  STAFFA_CODE_OK = 0,
  /**
   * Bytes that no Staffa writer makes: a checksum or a structure does not hold.
   */
  STAFFA_CODE_CORRUPT = 1,
  /**
   * Bytes that end too early.
   */
  STAFFA_CODE_TRUNCATED = 2,
  /**
   * A type, a format version or an encoding that this release does not know.
   */
  STAFFA_CODE_UNSUPPORTED = 3,
  /**
   * More than the limits allow, or than the format can hold.
   */
  STAFFA_CODE_LIMIT = 4,
  /**
   * A mistake in Staffa, please report it.
   */
  STAFFA_CODE_INTERNAL = 5,
  /**
   * A request that makes no sense: NULL, an unknown column, a row out of range.
   */
  STAFFA_CODE_INVALID_ARGUMENT = 6,
  /**
   * Rows given to a writer that their types or the declared order rule out.
   */
  STAFFA_CODE_INVALID_VALUE = 7,
  /**
   * A cancel flag was set, or a callback cancelled.
   */
  STAFFA_CODE_CANCELLED = 8,
  /**
   * A read or a write that the system or a callback refused.
   */
  STAFFA_CODE_IO = 9,
  /**
   * An error of Arrow: offsets too large for a type, for example.
   */
  STAFFA_CODE_ARROW = 10,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum StaffaCode StaffaCode;
#else
typedef int32_t StaffaCode;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * How a column is compared with a literal. Floats stand in IEEE 754's total order.
 */
enum StaffaCompare
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Equal.
   */
  STAFFA_COMPARE_EQ = 0,
  /**
   * Not equal.
   */
  STAFFA_COMPARE_NOT_EQ = 1,
  /**
   * Less.
   */
  STAFFA_COMPARE_LT = 2,
  /**
   * Less or equal.
   */
  STAFFA_COMPARE_LT_EQ = 3,
  /**
   * Greater.
   */
  STAFFA_COMPARE_GT = 4,
  /**
   * Greater or equal.
   */
  STAFFA_COMPARE_GT_EQ = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum StaffaCompare StaffaCompare;
#else
typedef int32_t StaffaCompare;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * A flag that stops scans and writers, which any thread may set.
 */
typedef struct StaffaCancel StaffaCancel;

/**
 * Why a function failed: a code and a text. Made where the caller passes a place for it, and freed by
 * `staffa_error_free`.
 */
typedef struct StaffaError StaffaError;

/**
 * An open file. Threads may share it; scans and streams of it go on after it is freed.
 */
typedef struct StaffaFile StaffaFile;

/**
 * The keys and values that the writer's user gave a file.
 */
typedef struct StaffaMetadata StaffaMetadata;

/**
 * Counters of the scans that have them: of one, or of all that one query makes. Threads may share them.
 */
typedef struct StaffaMetrics StaffaMetrics;

/**
 * Options as keys and values: of opening a file, of writing one. Keys and values are checked where the
 * options are used; the guide lists them.
 */
typedef struct StaffaOptions StaffaOptions;

/**
 * A predicate over columns. Those that it is made of are copied, and still freed by their owner.
 */
typedef struct StaffaPredicate StaffaPredicate;

/**
 * What to read of a file, and how. One thread at a time uses it. It begins with all columns, all rows in
 * the order of the file, batches of at most 65,536 rows, and the calling thread alone.
 */
typedef struct StaffaScan StaffaScan;

/**
 * The splits of a scan, in the order of the file.
 */
typedef struct StaffaSplits StaffaSplits;

/**
 * What a file says of its leaf columns, and of the order of its rows.
 */
typedef struct StaffaStatistics StaffaStatistics;

/**
 * A file that is being written. One thread at a time uses it. Freed before it is finished, it leaves
 * nothing at its path; a sink has got the start of a file, which readers refuse.
 */
typedef struct StaffaWriter StaffaWriter;

/**
 * A range of bytes of a file.
 */
typedef struct StaffaRange {
  /**
   * The first byte.
   */
  uint64_t offset;
  /**
   * Their number.
   */
  uint64_t len;
} StaffaRange;

/**
 * A file whose bytes the host reads. Callbacks are called by the threads that read: by one at a time, and
 * the one that called the library, unless several threads use the file or a scan has threads of its own.
 */
typedef struct StaffaSource {
  /**
   * `sizeof(StaffaSource)`.
   */
  size_t size;
  /**
   * The first argument of every callback.
   */
  void *context;
  /**
   * The file's name in messages: a path or a URL, without secrets. It is copied.
   */
  const char *name;
  /**
   * Bytes of the file.
   */
  uint64_t len;
  /**
   * Reads `len` bytes at `offset`, which lie within the file, into `out`. Returns the number of bytes;
   * fewer than `len` are an error. A negative number is an error too: `-STAFFA_CODE_CANCELLED`, `-STAFFA_CODE_IO`.
   */
  int64_t (*read)(void *context, uint64_t offset, uint64_t len, uint8_t *out);
  /**
   * Ranges that will be read next, ascending, none of them twice: a hint to fetch them together and ahead
   * of time. May be NULL.
   */
  void (*begin)(void *context, const struct StaffaRange *ranges, size_t count);
  /**
   * Why the last `read` of this thread failed, or NULL; the text is copied at once. May be NULL.
   */
  const char *(*last_error)(void *context);
  /**
   * Frees the context. Called once, after the last file, scan and stream that uses it is freed, or by the
   * call that failed to open the file. May be NULL.
   */
  void (*release)(void *context);
} StaffaSource;

/**
 * What a file is, from its footer.
 */
typedef struct StaffaFileInfo {
  /**
   * `sizeof(StaffaFileInfo)`, set by the caller.
   */
  size_t size;
  /**
   * Rows of the table.
   */
  uint64_t rows;
  /**
   * Row groups.
   */
  uint64_t row_groups;
  /**
   * Bytes of the file.
   */
  uint64_t bytes;
  /**
   * Whether `id` is set: a writer may leave it out.
   */
  bool has_id;
  /**
   * A hash of the file; files of other bytes have another one.
   */
  uint8_t id[16];
} StaffaFileInfo;

/**
 * What `staffa_file_verify` has checked.
 */
typedef struct StaffaVerifyReport {
  /**
   * `sizeof(StaffaVerifyReport)`, set by the caller.
   */
  size_t size;
  /**
   * Rows of the table.
   */
  uint64_t rows;
  /**
   * Leaf columns.
   */
  uint64_t leaves;
  /**
   * Blocks.
   */
  uint64_t blocks;
  /**
   * Bytes of the file, all of them covered.
   */
  uint64_t bytes;
  /**
   * Bytes of the table in Arrow memory.
   */
  uint64_t decoded_bytes;
} StaffaVerifyReport;

/**
 * What was counted so far.
 */
typedef struct StaffaCounts {
  /**
   * `sizeof(StaffaCounts)`, set by the caller.
   */
  size_t size;
  /**
   * Bytes read of blocks and dictionaries; those that opening the file has read do not count.
   */
  uint64_t bytes_read;
  /**
   * Reads of the disk or of memory, and ranges read by the host.
   */
  uint64_t requests;
  /**
   * Nanoseconds of these.
   */
  uint64_t read_nanos;
  /**
   * Nanoseconds of everything else: checks, filters, decoding.
   */
  uint64_t decode_nanos;
  /**
   * Blocks that were needed.
   */
  uint64_t blocks;
  /**
   * Of these the ones found in the cache.
   */
  uint64_t cache_hits;
} StaffaCounts;

/**
 * A share of a scan: some rows of one row group. `first_row` and `rows` are all that another process needs,
 * which opens the file too.
 */
typedef struct StaffaSplit {
  /**
   * `sizeof(StaffaSplit)`, set by the caller.
   */
  size_t size;
  /**
   * Its row group, counted from 0.
   */
  uint64_t row_group;
  /**
   * Its first row in the table.
   */
  uint64_t first_row;
  /**
   * Its rows, before any filter.
   */
  uint64_t rows;
  /**
   * About where its bytes begin in the file, by the share of the rows.
   */
  uint64_t byte_offset;
  /**
   * About how many they are.
   */
  uint64_t byte_len;
} StaffaSplit;

/**
 * What a file says of a leaf column. The texts live as long as the handle.
 */
typedef struct StaffaColumnStatistics {
  /**
   * `sizeof(StaffaColumnStatistics)`, set by the caller.
   */
  size_t size;
  /**
   * Its path; the name of a flat column.
   */
  const char *path;
  /**
   * NULLs.
   */
  uint64_t nulls;
  /**
   * At most the smallest value as text, or NULL; of floats NaN apart, of strings cut off at 16 bytes.
   */
  const char *min;
  /**
   * At least the largest value as text, or NULL; of strings cut off at 16 bytes and rounded up.
   */
  const char *max;
  /**
   * Estimate of the number of distinct values that are not NULL; exact below 256.
   */
  uint64_t distinct;
  /**
   * Bytes of all values, decoded: words, bits or strings.
   */
  uint64_t decoded_bytes;
  /**
   * Whether the values that are not NULL never decrease.
   */
  bool ascending;
  /**
   * Whether they never increase.
   */
  bool descending;
} StaffaColumnStatistics;

/**
 * A column by which the rows are sorted. The name lives as long as the handle.
 */
typedef struct StaffaSortKey {
  /**
   * `sizeof(StaffaSortKey)`, set by the caller.
   */
  size_t size;
  /**
   * The name of a top-level column.
   */
  const char *column;
  /**
   * From the largest value to the smallest.
   */
  bool descending;
  /**
   * NULLs before all values, not behind them.
   */
  bool nulls_first;
} StaffaSortKey;

/**
 * Where the bytes of a new file go. They come in order; the file is whole once `staffa_writer_finish` has
 * returned `STAFFA_CODE_OK`. Callbacks are called by the thread that called the library.
 */
typedef struct StaffaSink {
  /**
   * `sizeof(StaffaSink)`.
   */
  size_t size;
  /**
   * The first argument of every callback.
   */
  void *context;
  /**
   * The file's name in messages: a path or a URL, without secrets. It is copied.
   */
  const char *name;
  /**
   * Takes all of `len` bytes. Returns 0; any other number is an error: `STAFFA_CODE_CANCELLED`, `STAFFA_CODE_IO`.
   */
  int32_t (*write)(void *context, const uint8_t *bytes, size_t len);
  /**
   * Called once behind the last byte, before `staffa_writer_finish` returns; 0, or an error. May be NULL.
   */
  int32_t (*flush)(void *context);
  /**
   * Why the last callback failed, or NULL; the text is copied at once. May be NULL.
   */
  const char *(*last_error)(void *context);
  /**
   * Frees the context. Called once: when the writer is finished, has failed or is freed, or by the call
   * that failed to make it. May be NULL.
   */
  void (*release)(void *context);
} StaffaSink;

/**
 * The sizes of a file that was written.
 */
typedef struct StaffaWriteSummary {
  /**
   * `sizeof(StaffaWriteSummary)`, set by the caller.
   */
  size_t size;
  /**
   * Rows of the table.
   */
  uint64_t rows;
  /**
   * Row groups.
   */
  uint64_t row_groups;
  /**
   * Bytes of the rows in Arrow memory.
   */
  uint64_t arrow_bytes;
  /**
   * Bytes of the file.
   */
  uint64_t file_bytes;
} StaffaWriteSummary;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * `column op value`. `op` is one of `StaffaCompare`; a field of a struct is named behind a point.
 */
StaffaCode staffa_predicate_compare_int(const char *column,
                                        int32_t op,
                                        int64_t value,
                                        struct StaffaPredicate **predicate,
                                        struct StaffaError **error);

/**
 * `column op value`. A column of integers compares with the exact value of this double.
 */
StaffaCode staffa_predicate_compare_double(const char *column,
                                           int32_t op,
                                           double value,
                                           struct StaffaPredicate **predicate,
                                           struct StaffaError **error);

/**
 * `column op value`.
 */
StaffaCode staffa_predicate_compare_bool(const char *column,
                                         int32_t op,
                                         bool value,
                                         struct StaffaPredicate **predicate,
                                         struct StaffaError **error);

/**
 * `column op value`, of text and binary (its UTF-8), dates (`2020-01-31`), times (`12:30:00.5`), timestamps
 * (`2020-01-31T12:30:00Z`) and decimals (`0.1`, exact at any length).
 */
StaffaCode staffa_predicate_compare_text(const char *column,
                                         int32_t op,
                                         const char *value,
                                         struct StaffaPredicate **predicate,
                                         struct StaffaError **error);

/**
 * `column op value`, where the value is an Arrow array of one value: exact for every type, NULL too.
 * Durations are taken in the column's unit. Array and schema are moved: released, whatever comes.
 */
StaffaCode staffa_predicate_compare(const char *column,
                                    int32_t op,
                                    struct ArrowSchema *schema,
                                    struct ArrowArray *array,
                                    struct StaffaPredicate **predicate,
                                    struct StaffaError **error);

/**
 * `column in (values)`: the values are an Arrow array, which is moved with its schema: released, whatever
 * comes. Of no values: false.
 */
StaffaCode staffa_predicate_in(const char *column,
                               struct ArrowSchema *schema,
                               struct ArrowArray *array,
                               struct StaffaPredicate **predicate,
                               struct StaffaError **error);

/**
 * The version of this library, such as "0.1.0".
 */
const char *staffa_version(void);

/**
 * The version of the functions and structs of this library. It grows when one is removed or changed, not
 * when one is added; it equals `STAFFA_ABI_VERSION` of the header that fits.
 */
uint32_t staffa_abi_version(void);

/**
 * The code of an error; `STAFFA_CODE_OK` for NULL.
 */
StaffaCode staffa_error_code(const struct StaffaError *error);

/**
 * The text of an error: where, what was found, what was expected; "" for NULL. It lives as long as the
 * error.
 */
const char *staffa_error_message(const struct StaffaError *error);

/**
 * Frees an error; NULL is ignored.
 */
void staffa_error_free(struct StaffaError *error);

/**
 * Opens a local file: reads and checks its footer. `options` may be NULL.
 */
StaffaCode staffa_file_open(const char *path,
                            const struct StaffaOptions *options,
                            struct StaffaFile **file,
                            struct StaffaError **error);

/**
 * Opens a file that is in memory. With `release`, the memory is lent: it stays, and nobody writes it, until
 * `release(context)` is called once: after the last file, scan, stream and array that uses it is freed, or
 * by this call if it fails. Without, `data` is copied. `options` may be NULL.
 */
StaffaCode staffa_file_open_bytes(const uint8_t *data,
                                  size_t len,
                                  void (*release)(void *context),
                                  void *context,
                                  const struct StaffaOptions *options,
                                  struct StaffaFile **file,
                                  struct StaffaError **error);

/**
 * Opens a file whose bytes the host reads. The struct is copied; its context belongs to the library from
 * here on, also if the call fails (but for a `source` that is NULL or has no size). `options` may be NULL.
 */
StaffaCode staffa_file_open_source(const struct StaffaSource *source,
                                   const struct StaffaOptions *options,
                                   struct StaffaFile **file,
                                   struct StaffaError **error);

/**
 * Frees a file; NULL is ignored.
 */
void staffa_file_free(struct StaffaFile *file);

/**
 * Tells rows, row groups, bytes and id of a file; `info->size` is set by the caller.
 */
StaffaCode staffa_file_info(const struct StaffaFile *file, struct StaffaFileInfo *info, struct StaffaError **error);

/**
 * The schema of the table, which the caller releases.
 */
StaffaCode staffa_file_schema(const struct StaffaFile *file, struct ArrowSchema *schema, struct StaffaError **error);

/**
 * Whether the file can have rows for which a predicate is true, by its footer alone: false is certain.
 */
StaffaCode staffa_file_may_match(const struct StaffaFile *file,
                                 const struct StaffaPredicate *predicate,
                                 bool *may_match,
                                 struct StaffaError **error);

/**
 * Reads rows by number, counted from 0, in any order and with repeats, as one batch in that order, which the
 * caller releases with its schema. `columns` names top-level columns in the order wanted; all for NULL and 0.
 * The calling thread reads.
 */
StaffaCode staffa_file_take(const struct StaffaFile *file,
                            const uint64_t *rows,
                            size_t row_count,
                            const char *const *columns,
                            size_t column_count,
                            struct ArrowSchema *schema,
                            struct ArrowArray *array,
                            struct StaffaError **error);

/**
 * Reads, checks and decodes everything, with so many threads: 1 for the calling one alone, 0 for all that
 * the process may use. An error is the first thing that is wrong. `report->size` is set by the caller;
 * `report` may be NULL.
 */
StaffaCode staffa_file_verify(const struct StaffaFile *file,
                              size_t threads,
                              struct StaffaVerifyReport *report,
                              struct StaffaError **error);

/**
 * The keys and values of a file. A key that holds a NUL, which C cannot have, is left out.
 */
StaffaCode staffa_file_metadata(const struct StaffaFile *file,
                                struct StaffaMetadata **metadata,
                                struct StaffaError **error);

/**
 * Number of keys; 0 for NULL.
 */
size_t staffa_metadata_len(const struct StaffaMetadata *metadata);

/**
 * A key and its value, in the order of the keys; both live as long as the handle. The value is any bytes,
 * without a NUL behind them.
 */
StaffaCode staffa_metadata_get(const struct StaffaMetadata *metadata,
                               size_t index,
                               const char **key,
                               const uint8_t **value,
                               size_t *value_len,
                               struct StaffaError **error);

/**
 * Frees metadata; NULL is ignored.
 */
void staffa_metadata_free(struct StaffaMetadata *metadata);

/**
 * Counters that begin at 0. Never NULL.
 */
struct StaffaMetrics *staffa_metrics_new(void);

/**
 * Tells what was counted; `counts->size` is set by the caller.
 */
StaffaCode staffa_metrics_get(const struct StaffaMetrics *metrics,
                              struct StaffaCounts *counts,
                              struct StaffaError **error);

/**
 * Frees counters; scans that have them go on. NULL is ignored.
 */
void staffa_metrics_free(struct StaffaMetrics *metrics);

/**
 * Counts what a scan reads.
 */
StaffaCode staffa_scan_metrics(struct StaffaScan *scan,
                               const struct StaffaMetrics *metrics,
                               struct StaffaError **error);

/**
 * Whether blocks are taken from the cache of the file, and kept there for the next scan. No by default.
 */
StaffaCode staffa_scan_cached(struct StaffaScan *scan, bool on, struct StaffaError **error);

/**
 * Sets the most bytes that the cache of the process holds, 256 MiB before that, and returns the most before.
 * Files use it that were opened without `cache_bytes`.
 */
uint64_t staffa_cache_set_bytes(uint64_t bytes);

/**
 * New options, all of which are the defaults. Never NULL.
 */
struct StaffaOptions *staffa_options_new(void);

/**
 * Sets an option. `without` and `sort_order` gather values; of other keys the last value counts.
 */
StaffaCode staffa_options_set(struct StaffaOptions *options,
                              const char *key,
                              const char *value,
                              struct StaffaError **error);

/**
 * Sets an option of one column, by its name or by the path of a leaf.
 */
StaffaCode staffa_options_set_column(struct StaffaOptions *options,
                                     const char *column,
                                     const char *key,
                                     const char *value,
                                     struct StaffaError **error);

/**
 * Frees options; NULL is ignored.
 */
void staffa_options_free(struct StaffaOptions *options);

/**
 * Parses a predicate: `price < 10 and name is not null`. The guide of Rust has the language.
 */
StaffaCode staffa_predicate_parse(const char *text, struct StaffaPredicate **predicate, struct StaffaError **error);

/**
 * `column is null`, of any type.
 */
StaffaCode staffa_predicate_is_null(const char *column, struct StaffaPredicate **predicate, struct StaffaError **error);

/**
 * `column starts with prefix`.
 */
StaffaCode staffa_predicate_starts_with(const char *column,
                                        const char *prefix,
                                        struct StaffaPredicate **predicate,
                                        struct StaffaError **error);

/**
 * `column contains part`.
 */
StaffaCode staffa_predicate_contains(const char *column,
                                     const char *part,
                                     struct StaffaPredicate **predicate,
                                     struct StaffaError **error);

/**
 * `column like pattern`: SQL's, where `%` stands for any text and `_` for one character; a backslash before
 * them takes that meaning away.
 */
StaffaCode staffa_predicate_like(const char *column,
                                 const char *pattern,
                                 struct StaffaPredicate **predicate,
                                 struct StaffaError **error);

/**
 * As `staffa_predicate_like`, upper and lower case alike.
 */
StaffaCode staffa_predicate_ilike(const char *column,
                                  const char *pattern,
                                  struct StaffaPredicate **predicate,
                                  struct StaffaError **error);

/**
 * All of some predicates; of none: true.
 */
StaffaCode staffa_predicate_and(const struct StaffaPredicate *const *parts,
                                size_t count,
                                struct StaffaPredicate **predicate,
                                struct StaffaError **error);

/**
 * One of some predicates; of none: false.
 */
StaffaCode staffa_predicate_or(const struct StaffaPredicate *const *parts,
                               size_t count,
                               struct StaffaPredicate **predicate,
                               struct StaffaError **error);

/**
 * True where a predicate is false; where it is NULL, neither.
 */
StaffaCode staffa_predicate_not(const struct StaffaPredicate *part,
                                struct StaffaPredicate **predicate,
                                struct StaffaError **error);

/**
 * Writes a predicate as text that parses, cut off behind `size` bytes with the NUL, and returns the bytes
 * of all of it without the NUL: 0 for NULL. `buffer` may be NULL where `size` is 0.
 */
size_t staffa_predicate_text(const struct StaffaPredicate *predicate, char *buffer, size_t size);

/**
 * Frees a predicate; NULL is ignored.
 */
void staffa_predicate_free(struct StaffaPredicate *predicate);

/**
 * A flag that is not set. Never NULL.
 */
struct StaffaCancel *staffa_cancel_new(void);

/**
 * Sets a flag, for good; NULL is ignored.
 */
void staffa_cancel_set(const struct StaffaCancel *cancel);

/**
 * Frees a flag; scans and writers that have it go on. NULL is ignored.
 */
void staffa_cancel_free(struct StaffaCancel *cancel);

/**
 * A scan of a file, which it keeps open.
 */
StaffaCode staffa_scan_new(const struct StaffaFile *file, struct StaffaScan **scan, struct StaffaError **error);

/**
 * Top-level columns by name, in the order wanted; none where `count` is 0.
 */
StaffaCode staffa_scan_columns(struct StaffaScan *scan,
                               const char *const *columns,
                               size_t count,
                               struct StaffaError **error);

/**
 * Only rows for which a predicate is true, which is copied.
 */
StaffaCode staffa_scan_filter(struct StaffaScan *scan,
                              const struct StaffaPredicate *predicate,
                              struct StaffaError **error);

/**
 * Whether rows for which the predicate is not true may come too: for engines that test again.
 */
StaffaCode staffa_scan_loose(struct StaffaScan *scan, bool on, struct StaffaError **error);

/**
 * Largest number of rows.
 */
StaffaCode staffa_scan_limit(struct StaffaScan *scan, uint64_t rows, struct StaffaError **error);

/**
 * Skips the first rows, of those that the predicate keeps.
 */
StaffaCode staffa_scan_offset(struct StaffaScan *scan, uint64_t rows, struct StaffaError **error);

/**
 * Largest number of rows of a batch; 65,536 by default. A batch never spans row groups.
 */
StaffaCode staffa_scan_batch_rows(struct StaffaScan *scan, size_t rows, struct StaffaError **error);

/**
 * Threads that decode, ahead of the caller: 1, the default, for the one that asks for batches and no other;
 * 0 for all that the process may use.
 */
StaffaCode staffa_scan_threads(struct StaffaScan *scan, size_t threads, struct StaffaError **error);

/**
 * Whether rows come in the order of the file, which is the default.
 */
StaffaCode staffa_scan_ordered(struct StaffaScan *scan, bool on, struct StaffaError **error);

/**
 * Strings and binaries as views.
 */
StaffaCode staffa_scan_string_views(struct StaffaScan *scan, bool on, struct StaffaError **error);

/**
 * Columns of strings or binaries to read as dictionaries with keys of 32 bits.
 */
StaffaCode staffa_scan_dictionaries(struct StaffaScan *scan,
                                    const char *const *columns,
                                    size_t count,
                                    struct StaffaError **error);

/**
 * Appends a column of this name with the number of each row in the table, from 0, as int64.
 */
StaffaCode staffa_scan_row_numbers(struct StaffaScan *scan, const char *name, struct StaffaError **error);

/**
 * Only the row groups that begin within a range of bytes, by an estimate from their rows: for engines that
 * cut files into ranges. Ranges that together cover the file read each row once.
 */
StaffaCode staffa_scan_byte_range(struct StaffaScan *scan, uint64_t offset, uint64_t len, struct StaffaError **error);

/**
 * Ends streams of the scan with `STAFFA_CODE_CANCELLED` (in a stream: EINVAL, "cancelled") once the flag is set.
 */
StaffaCode staffa_scan_cancel(struct StaffaScan *scan, const struct StaffaCancel *cancel, struct StaffaError **error);

/**
 * The schema of the batches, which the caller releases.
 */
StaffaCode staffa_scan_schema(const struct StaffaScan *scan, struct ArrowSchema *schema, struct StaffaError **error);

/**
 * Begins the scan: a stream of Arrow's C interface, which the caller releases, on any thread, also after scan
 * and file are freed. A scan may be begun several times. An error ends a stream: half a table is no table.
 * Its codes are EIO, ENOMEM (a limit), ENOSYS (unsupported) and EINVAL, its text says what and where.
 */
StaffaCode staffa_scan_stream(const struct StaffaScan *scan,
                              struct ArrowArrayStream *stream,
                              struct StaffaError **error);

/**
 * Frees a scan; streams of it go on. NULL is ignored.
 */
void staffa_scan_free(struct StaffaScan *scan);

/**
 * The scan cut into splits of about `rows` rows; whole row groups for `SIZE_MAX`. Splits are whole blocks of
 * 65,536 rows; whole row groups where a column that is read or tested is nested. Those whose zone maps
 * exclude a match are left out.
 */
StaffaCode staffa_scan_splits(const struct StaffaScan *scan,
                              size_t rows,
                              struct StaffaSplits **splits,
                              struct StaffaError **error);

/**
 * Number of splits; 0 for NULL.
 */
size_t staffa_splits_len(const struct StaffaSplits *splits);

/**
 * Tells a split; `split->size` is set by the caller.
 */
StaffaCode staffa_splits_get(const struct StaffaSplits *splits,
                             size_t index,
                             struct StaffaSplit *split,
                             struct StaffaError **error);

/**
 * Frees splits; NULL is ignored.
 */
void staffa_splits_free(struct StaffaSplits *splits);

/**
 * Restricts the scan to a split, by its rows as `staffa_splits_get` told them; called again, to several, in
 * this order.
 */
StaffaCode staffa_scan_add_split(struct StaffaScan *scan,
                                 uint64_t first_row,
                                 uint64_t rows,
                                 struct StaffaError **error);

/**
 * Statistics of all leaf columns; none where the writer left them out.
 */
StaffaCode staffa_file_statistics(const struct StaffaFile *file,
                                  struct StaffaStatistics **statistics,
                                  struct StaffaError **error);

/**
 * Number of leaf columns; 0 for NULL.
 */
size_t staffa_statistics_len(const struct StaffaStatistics *statistics);

/**
 * Tells the statistics of a leaf column; `column->size` is set by the caller.
 */
StaffaCode staffa_statistics_get(const struct StaffaStatistics *statistics,
                                 size_t index,
                                 struct StaffaColumnStatistics *column,
                                 struct StaffaError **error);

/**
 * The bounds of a flat column as an Arrow array of its type with two values: at most the smallest, at least
 * the largest; NULL where they are unknown, and of strings and binaries, whose bounds are cut off. A column
 * of a nested type has two NULLs of type null. The caller releases array and schema.
 */
StaffaCode staffa_statistics_bounds(const struct StaffaStatistics *statistics,
                                    size_t index,
                                    struct ArrowSchema *schema,
                                    struct ArrowArray *array,
                                    struct StaffaError **error);

/**
 * Number of columns by which the rows are sorted, as the writer has declared and checked; 0 for NULL.
 */
size_t staffa_statistics_sort_keys(const struct StaffaStatistics *statistics);

/**
 * Tells a column by which the rows are sorted, the first one first; `key->size` is set by the caller.
 */
StaffaCode staffa_statistics_sort_key(const struct StaffaStatistics *statistics,
                                      size_t index,
                                      struct StaffaSortKey *key,
                                      struct StaffaError **error);

/**
 * Frees statistics; NULL is ignored.
 */
void staffa_statistics_free(struct StaffaStatistics *statistics);

/**
 * Begins a local file, which appears at its path, whole, when it is finished. The schema is moved: released,
 * whatever comes. `options` and `cancel` may be NULL. The calling thread encodes, unless the option `threads`
 * says otherwise.
 */
StaffaCode staffa_writer_create(const char *path,
                                struct ArrowSchema *schema,
                                const struct StaffaOptions *options,
                                const struct StaffaCancel *cancel,
                                struct StaffaWriter **writer,
                                struct StaffaError **error);

/**
 * Begins a file whose bytes the host takes. The struct is copied; its context belongs to the library from
 * here on, also if the call fails (but for a `sink` that is NULL or has no size). The rest as for
 * `staffa_writer_create`.
 */
StaffaCode staffa_writer_create_sink(const struct StaffaSink *sink,
                                     struct ArrowSchema *schema,
                                     const struct StaffaOptions *options,
                                     const struct StaffaCancel *cancel,
                                     struct StaffaWriter **writer,
                                     struct StaffaError **error);

/**
 * Adds a batch, a struct array of the schema's columns, which is moved: released, whatever comes. A batch that
 * is refused (`STAFFA_CODE_INVALID_VALUE`, `STAFFA_CODE_INVALID_ARGUMENT`) leaves the writer as it was; any other error
 * ends it.
 */
StaffaCode staffa_writer_write(struct StaffaWriter *writer, struct ArrowArray *batch, struct StaffaError **error);

/**
 * Adds all batches of a stream, which is moved: released, whatever comes.
 */
StaffaCode staffa_writer_write_stream(struct StaffaWriter *writer,
                                      struct ArrowArrayStream *stream,
                                      struct StaffaError **error);

/**
 * Sets the value of a key, any bytes; until the file is finished, as often as wanted.
 */
StaffaCode staffa_writer_set_metadata(struct StaffaWriter *writer,
                                      const char *key,
                                      const uint8_t *value,
                                      size_t value_len,
                                      struct StaffaError **error);

/**
 * Bytes written so far; 0 for NULL.
 */
uint64_t staffa_writer_bytes(const struct StaffaWriter *writer);

/**
 * Writes what is left: the file gets its name, or the sink its flush. `summary->size` is set by the caller;
 * `summary` may be NULL. The writer is freed all the same, by `staffa_writer_free`.
 */
StaffaCode staffa_writer_finish(struct StaffaWriter *writer,
                                struct StaffaWriteSummary *summary,
                                struct StaffaError **error);

/**
 * Frees a writer; NULL is ignored.
 */
void staffa_writer_free(struct StaffaWriter *writer);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* STAFFA_H */
