//! A source of the host: it counts, fails, gives too little, panics, cancels; its context is released once.

use std::ffi::{CString, c_char, c_void};
use std::mem::{size_of, zeroed};
use std::ptr;
use std::slice::from_raw_parts;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use staffa_c::border::*;

use crate::calls::*;

/// What a read of the host does once `after` reads have worked.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    Work,
    Fail,
    Short,
    Long,
    Cancel,
    Panic,
}

struct Host {
    bytes: Vec<u8>,
    after: usize,
    then: Then,
    text: CString,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    reads: AtomicUsize,
    bytes: AtomicU64,
    begun: Mutex<Vec<StaffaRange>>,
    released: AtomicUsize,
}

unsafe extern "C-unwind" fn read(context: *mut c_void, offset: u64, len: u64, out: *mut u8) -> i64 {
    let host = unsafe { &*context.cast::<Host>() };
    let reads = host.seen.reads.fetch_add(1, Ordering::SeqCst);
    host.seen.bytes.fetch_add(len, Ordering::SeqCst);
    let then = if reads < host.after {
        Then::Work
    } else {
        host.then
    };
    let all = len as usize;
    let count = match then {
        Then::Work => all,
        Then::Fail => return -(StaffaCode::Io as i64),
        Then::Cancel => return -(StaffaCode::Cancelled as i64),
        Then::Short => all - 1,
        Then::Long => return len as i64 + 1,
        Then::Panic => panic!("the host's own"),
    };
    let from = &host.bytes[offset as usize..offset as usize + count];
    unsafe { ptr::copy_nonoverlapping(from.as_ptr(), out, count) };
    count as i64
}

unsafe extern "C-unwind" fn begin(context: *mut c_void, ranges: *const StaffaRange, count: usize) {
    let host = unsafe { &*context.cast::<Host>() };
    let ranges = unsafe { from_raw_parts(ranges, count) };
    host.seen.begun.lock().unwrap().extend_from_slice(ranges);
}

unsafe extern "C-unwind" fn last_error(context: *mut c_void) -> *const c_char {
    unsafe { &*context.cast::<Host>() }.text.as_ptr()
}

unsafe extern "C-unwind" fn release(context: *mut c_void) {
    let host = unsafe { Box::from_raw(context.cast::<Host>()) };
    host.seen.released.fetch_add(1, Ordering::SeqCst);
}

/// A source over these bytes, and what it sees.
fn source(bytes: &[u8], after: usize, then: Then, name: &CString) -> (StaffaSource, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    let host = Box::new(Host {
        bytes: bytes.to_vec(),
        after,
        then,
        text: c("the disk is on fire"),
        seen: seen.clone(),
    });
    let source = StaffaSource {
        size: size_of::<StaffaSource>(),
        context: Box::into_raw(host).cast(),
        name: name.as_ptr(),
        len: bytes.len() as u64,
        read: Some(read),
        begin: Some(begin),
        last_error: Some(last_error),
        release: Some(release),
    };
    (source, seen)
}

fn open_source(source: &StaffaSource, file: &mut *mut StaffaFile) -> (StaffaCode, String) {
    call(|e| unsafe { staffa_file_open_source(source, ptr::null(), file, e) })
}

#[test]
fn a_source_is_told_what_will_be_read() {
    let batch = large_table(250_000);
    let bytes = bytes_of(&batch);
    let name = c("archive/prices");
    let (source, seen) = source(&bytes, 0, Then::Work, &name);
    let mut file = ptr::null_mut();
    assert_eq!(open_source(&source, &mut file).0, StaffaCode::Ok);
    let scan = scan_of(file);
    let column = c("noise");
    unsafe {
        ok(|e| staffa_scan_columns(scan, [column.as_ptr()].as_ptr(), 1, e));
        assert_eq!(&rows_of(scan), &batch.project(&[3]).unwrap());
        let begun = seen.begun.lock().unwrap().clone();
        let told: u64 = begun.iter().map(|range| range.len).sum();
        assert!(told > 0 && seen.bytes.load(Ordering::SeqCst) <= told + (64 << 10));
        staffa_scan_free(scan);
        assert_eq!(seen.released.load(Ordering::SeqCst), 0);
        staffa_file_free(file);
    }
    assert_eq!(seen.released.load(Ordering::SeqCst), 1);
}

#[test]
fn optional_callbacks_may_be_missing() {
    let batch = table(1000);
    let bytes = bytes_of(&batch);
    let name = c("archive/prices");
    let (mut source, seen) = source(&bytes, 0, Then::Work, &name);
    (source.begin, source.last_error) = (None, None);
    let mut file = ptr::null_mut();
    assert_eq!(open_source(&source, &mut file).0, StaffaCode::Ok);
    let scan = scan_of(file);
    assert_eq!(rows_of(scan), batch);
    unsafe {
        staffa_scan_free(scan);
        staffa_file_free(file);
    }
    assert_eq!(seen.released.load(Ordering::SeqCst), 1);
}

/// What goes wrong when a file is opened, and in every read of a scan after that.
#[test]
fn a_source_that_fails_is_an_error_with_its_text() {
    let bytes = bytes_of(&large_table(250_000));
    let name = c("archive/prices");
    let wrongs = [
        (
            Then::Fail,
            StaffaCode::Io,
            "archive/prices: the disk is on fire",
        ),
        (Then::Short, StaffaCode::Truncated, "archive/prices"),
        (Then::Long, StaffaCode::Truncated, "archive/prices"),
        (Then::Cancel, StaffaCode::Cancelled, "cancelled"),
        (Then::Panic, StaffaCode::Internal, "the host's own"),
    ];
    for (then, code, part) in wrongs {
        let (source, seen) = source(&bytes, 0, then, &name);
        let mut file = ptr::null_mut();
        let (found, text) = open_source(&source, &mut file);
        assert_eq!(found, code, "{text}");
        assert!(text.contains(part), "{text}");
        assert!(file.is_null());
        assert_eq!(seen.released.load(Ordering::SeqCst), 1);
    }
    for (then, _, part) in wrongs {
        let mut after = 1;
        loop {
            let (source, seen) = source(&bytes, after, then, &name);
            let mut file = ptr::null_mut();
            assert_eq!(open_source(&source, &mut file).0, StaffaCode::Ok);
            let scan = scan_of(file);
            let mut stream = stream_of(scan);
            let (mut rows, mut error) = (0, None);
            for batch in &mut stream {
                match batch {
                    Ok(batch) => {
                        let n = batch.column(0).as_primitive::<Int64Type>();
                        assert_eq!(n.value(0), rows);
                        rows += batch.num_rows() as i64;
                    }
                    Err(e) => error = Some(e.to_string()),
                }
            }
            drop(stream);
            unsafe {
                staffa_scan_free(scan);
                staffa_file_free(file);
            }
            assert_eq!(seen.released.load(Ordering::SeqCst), 1);
            match error {
                Some(text) => assert!(text.contains(part), "{text}"),
                None => {
                    assert_eq!(rows, 250_000);
                    break;
                }
            }
            after += 1;
        }
        assert!(after > 1);
    }
}

#[test]
fn a_source_of_an_older_header_is_read_as_far_as_it_goes() {
    let bytes = bytes_of(&table(10));
    let name = c("a");
    let mut file = ptr::null_mut();
    // Longer than this library knows: a newer header.
    let (mut longer, seen) = source(&bytes, 0, Then::Work, &name);
    #[repr(C)]
    struct Longer(StaffaSource, [usize; 4]);
    longer.size = size_of::<Longer>();
    let newer = Longer(longer, [usize::MAX; 4]);
    assert_eq!(open_source(&newer.0, &mut file).0, StaffaCode::Ok);
    unsafe { staffa_file_free(file) };
    assert_eq!(seen.released.load(Ordering::SeqCst), 1);

    let (mut none, _) = source(&bytes, 0, Then::Work, &name);
    let size = none.size;
    for wrong in [0, 8, size - 1] {
        none.size = wrong;
        let (code, text) = open_source(&none, &mut file);
        assert_eq!(code, StaffaCode::InvalidArgument);
        assert!(text.contains("size"), "{text}");
    }
    // Without a size nothing of it is known: the context is still the host's.
    unsafe { release(none.context) };

    let zero: StaffaSource = StaffaSource {
        size,
        ..unsafe { zeroed() }
    };
    let (code, text) = open_source(&zero, &mut file);
    assert_eq!(code, StaffaCode::InvalidArgument);
    assert!(text.contains("read"), "{text}");
}
