/* A table of Arrow's C data interface, made by hand: n (int64), price (double), city (utf8, with NULLs). A program that
 * has an Arrow library uses that one; this is all that the interface asks for. */
#ifndef PRICES_H
#define PRICES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "staffa.h"

/* Ends the program with the text of an error. */
static void check(StaffaCode code, StaffaError *error) {
  if (code != STAFFA_CODE_OK) {
    fprintf(stderr, "error %d: %s\n", (int)code, staffa_error_message(error));
    staffa_error_free(error);
    exit(1);
  }
}

static void *allocate(size_t bytes) {
  void *memory = calloc(1, bytes);
  if (memory == NULL) abort();
  return memory;
}

static void prices_release_schema(struct ArrowSchema *schema) {
  for (int64_t i = 0; i < schema->n_children; i++) {
    if (schema->children[i]->release != NULL) schema->children[i]->release(schema->children[i]);
    free(schema->children[i]);
  }
  free(schema->children);
  schema->release = NULL;
}

static void prices_release_array(struct ArrowArray *array) {
  for (int64_t i = 0; i < array->n_children; i++) {
    if (array->children[i]->release != NULL) array->children[i]->release(array->children[i]);
    free(array->children[i]);
  }
  for (int64_t i = 0; i < array->n_buffers; i++) free((void *)array->buffers[i]);
  free(array->buffers);
  free(array->children);
  array->release = NULL;
}

/* The schema of the table: a struct of its columns. */
static void prices_schema(struct ArrowSchema *schema) {
  static const char *const formats[] = {"l", "g", "u"};
  static const char *const names[] = {"n", "price", "city"};
  *schema = (struct ArrowSchema){.format = "+s", .name = "", .n_children = 3, .release = prices_release_schema};
  schema->children = allocate(3 * sizeof *schema->children);
  for (int i = 0; i < 3; i++) {
    schema->children[i] = allocate(sizeof **schema->children);
    *schema->children[i] = (struct ArrowSchema){
        .format = formats[i], .name = names[i], .flags = ARROW_FLAG_NULLABLE, .release = prices_release_schema};
  }
}

static struct ArrowArray *prices_column(int64_t rows, int64_t buffers) {
  struct ArrowArray *column = allocate(sizeof *column);
  *column = (struct ArrowArray){.length = rows, .n_buffers = buffers, .release = prices_release_array};
  column->buffers = allocate((size_t)buffers * sizeof *column->buffers);
  return column;
}

/* Rows first to first + rows: each tenth city is NULL. */
static void prices_batch(int64_t first, int64_t rows, struct ArrowArray *batch) {
  static const char *const cities[] = {"Oban", "Tobermory", "Iona"};
  struct ArrowArray *n = prices_column(rows, 2), *price = prices_column(rows, 2), *city = prices_column(rows, 3);
  size_t count = (size_t)rows;
  int64_t *ns = allocate(count * sizeof *ns);
  double *prices = allocate(count * sizeof *prices);
  uint8_t *valid = allocate((count + 7) / 8);
  int32_t *offsets = allocate((count + 1) * sizeof *offsets);
  char *text = allocate(count * strlen("Tobermory") + 1);
  for (size_t i = 0; i < count; i++) {
    int64_t row = first + (int64_t)i;
    ns[i] = row;
    prices[i] = (double)(row % 1000) / 4;
    offsets[i + 1] = offsets[i];
    if (row % 10 == 9) {
      city->null_count++;
      continue;
    }
    const char *name = cities[row % 3];
    valid[i / 8] |= (uint8_t)(1 << (i % 8));
    memcpy(text + offsets[i], name, strlen(name));
    offsets[i + 1] += (int32_t)strlen(name);
  }
  n->buffers[1] = ns;
  price->buffers[1] = prices;
  city->buffers[0] = valid;
  city->buffers[1] = offsets;
  city->buffers[2] = text;
  *batch = (struct ArrowArray){.length = rows, .n_buffers = 1, .n_children = 3, .release = prices_release_array};
  batch->buffers = allocate(sizeof *batch->buffers);
  batch->children = allocate(3 * sizeof *batch->children);
  batch->children[0] = n;
  batch->children[1] = price;
  batch->children[2] = city;
}

#endif
