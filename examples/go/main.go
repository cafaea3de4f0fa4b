// Reads a Staffa file from Go through staffa.h: statistics, and the rows that match, by several goroutines.
package main

/*
#cgo CFLAGS: -I${SRCDIR}/../../crates/staffa-c/include -I${SRCDIR}/../c
#cgo LDFLAGS: -lstaffa_c
#include "prices.h"

static int next_batch(struct ArrowArrayStream *stream, struct ArrowArray *batch) {
  return stream->get_next(stream, batch);
}
static const char *last_error(struct ArrowArrayStream *stream) { return stream->get_last_error(stream); }
static void end_batch(struct ArrowArray *batch) { batch->release(batch); }
static void end_stream(struct ArrowArrayStream *stream) { stream->release(stream); }
static const void *values(const struct ArrowArray *batch, int64_t column) {
  return batch->children[column]->buffers[1];
}
*/
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"unsafe"
)

// Error is a failure of the library.
type Error struct {
	Code int
	Text string
}

func (e *Error) Error() string { return fmt.Sprintf("staffa, code %d: %s", e.Code, e.Text) }

// asError frees the library's error and gives it as one of Go.
func asError(code C.StaffaCode, e *C.StaffaError) error {
	if code == C.STAFFA_CODE_OK {
		return nil
	}
	defer C.staffa_error_free(e)
	return &Error{Code: int(code), Text: C.GoString(C.staffa_error_message(e))}
}

// File is an open file, which goroutines may share.
type File struct{ handle *C.StaffaFile }

// Open opens a local file.
func Open(path string) (*File, error) {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	var file File
	var e *C.StaffaError
	return &file, asError(C.staffa_file_open(text, nil, &file.handle, &e), e)
}

// Close frees the file, once.
func (f *File) Close() {
	C.staffa_file_free(f.handle)
	f.handle = nil
}

// Split is a share of a scan.
type Split struct{ FirstRow, Rows uint64 }

// scan is a scan with a filter, to be freed.
func (f *File) scan(filter string) (*C.StaffaScan, error) {
	text := C.CString(filter)
	defer C.free(unsafe.Pointer(text))
	var predicate *C.StaffaPredicate
	var e *C.StaffaError
	if err := asError(C.staffa_predicate_parse(text, &predicate, &e), e); err != nil {
		return nil, err
	}
	defer C.staffa_predicate_free(predicate)
	var scan *C.StaffaScan
	if err := asError(C.staffa_scan_new(f.handle, &scan, &e), e); err != nil {
		return nil, err
	}
	if err := asError(C.staffa_scan_filter(scan, predicate, &e), e); err != nil {
		C.staffa_scan_free(scan)
		return nil, err
	}
	return scan, nil
}

// Splits cuts a scan into row groups; those in which no row can match are left out.
func (f *File) Splits(filter string) ([]Split, error) {
	scan, err := f.scan(filter)
	if err != nil {
		return nil, err
	}
	defer C.staffa_scan_free(scan)
	var all *C.StaffaSplits
	var e *C.StaffaError
	if err := asError(C.staffa_scan_splits(scan, C.SIZE_MAX, &all, &e), e); err != nil {
		return nil, err
	}
	defer C.staffa_splits_free(all)
	splits := make([]Split, 0, int(C.staffa_splits_len(all)))
	for i := C.size_t(0); i < C.staffa_splits_len(all); i++ {
		split := C.StaffaSplit{size: C.sizeof_StaffaSplit}
		if err := asError(C.staffa_splits_get(all, i, &split, &e), e); err != nil {
			return nil, err
		}
		splits = append(splits, Split{uint64(split.first_row), uint64(split.rows)})
	}
	return splits, nil
}

// Sum adds up a column of int64 without NULLs over the rows of a split that match.
func (f *File) Sum(column, filter string, split Split) (sum int64, rows int64, err error) {
	scan, err := f.scan(filter)
	if err != nil {
		return 0, 0, err
	}
	defer C.staffa_scan_free(scan)
	name := C.CString(column)
	defer C.free(unsafe.Pointer(name))
	var e *C.StaffaError
	if err := asError(C.staffa_scan_columns(scan, &name, 1, &e), e); err != nil {
		return 0, 0, err
	}
	code := C.staffa_scan_add_split(scan, C.uint64_t(split.FirstRow), C.uint64_t(split.Rows), &e)
	if err := asError(code, e); err != nil {
		return 0, 0, err
	}
	var stream C.struct_ArrowArrayStream
	if err := asError(C.staffa_scan_stream(scan, &stream, &e), e); err != nil {
		return 0, 0, err
	}
	defer C.end_stream(&stream)
	for {
		var batch C.struct_ArrowArray
		if code := C.next_batch(&stream, &batch); code != 0 {
			return 0, 0, &Error{Code: int(code), Text: C.GoString(C.last_error(&stream))}
		}
		if batch.release == nil {
			return sum, rows, nil
		}
		child := *batch.children
		first := (*int64)(C.values(&batch, 0))
		for _, value := range unsafe.Slice(first, int(child.offset+child.length))[int(child.offset):] {
			sum += value
		}
		rows += int64(batch.length)
		C.end_batch(&batch)
	}
}

// write makes a table of 250,000 rows, in memory of C.
func write(path string) error {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	options := C.staffa_options_new()
	defer C.staffa_options_free(options)
	key, value := C.CString("row_group_rows"), C.CString("100000")
	defer C.free(unsafe.Pointer(key))
	defer C.free(unsafe.Pointer(value))
	var e *C.StaffaError
	if err := asError(C.staffa_options_set(options, key, value, &e), e); err != nil {
		return err
	}
	var schema C.struct_ArrowSchema
	var batch C.struct_ArrowArray
	C.prices_schema(&schema)
	var writer *C.StaffaWriter
	if err := asError(C.staffa_writer_create(text, &schema, options, nil, &writer, &e), e); err != nil {
		return err
	}
	defer C.staffa_writer_free(writer)
	C.prices_batch(0, 250000, &batch)
	if err := asError(C.staffa_writer_write(writer, &batch, &e), e); err != nil {
		return err
	}
	return asError(C.staffa_writer_finish(writer, nil, &e), e)
}

func run() error {
	folder, err := os.MkdirTemp("", "staffa")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "prices.staffa")
	if err := write(path); err != nil {
		return err
	}
	if _, err := Open(path + ".none"); err == nil {
		return fmt.Errorf("a file that is not there was opened")
	}
	file, err := Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	const filter = "n >= 120000 and n < 240000"
	splits, err := file.Splits(filter)
	if err != nil {
		return err
	}
	sums, rows, failures := make([]int64, len(splits)), make([]int64, len(splits)), make([]error, len(splits))
	var group sync.WaitGroup
	for i, split := range splits {
		group.Add(1)
		go func() {
			defer group.Done()
			sums[i], rows[i], failures[i] = file.Sum("n", filter, split)
		}()
	}
	group.Wait()
	var sum, count int64
	for i := range splits {
		if failures[i] != nil {
			return failures[i]
		}
		sum, count = sum+sums[i], count+rows[i]
	}
	fmt.Printf("%d splits, %d rows, n adds up to %d\n", len(splits), count, sum)
	if len(splits) != 2 || count != 120000 || sum != 120000*(120000+239999)/2 {
		return fmt.Errorf("another result was expected")
	}
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
