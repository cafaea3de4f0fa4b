//! The threads on which requests run: begun when the first request is made, and anew after a fork,
//! which leaves a process without the threads of its parent.

use std::future::Future;
use std::io;
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};

use tokio::runtime::{Builder, Handle, Runtime};

static RUNTIME: Mutex<Option<(u32, Runtime)>> = Mutex::new(None);

/// Threads that only wait for answers and copy them.
const THREADS: usize = 2;

/// The runtime of this process.
pub(crate) fn handle() -> io::Result<Handle> {
    let mut runtime = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    match &*runtime {
        Some((of, known)) if *of == process => return Ok(known.handle().clone()),
        _ => {}
    }
    let mut builder = Builder::new_multi_thread();
    let builder = builder.worker_threads(THREADS).thread_name("staffa-lake");
    let new = builder.enable_all().build()?;
    let handle = new.handle().clone();
    if let Some((_, of_parent)) = runtime.replace((process, new)) {
        // Its threads are not there: to wait for them would take for ever.
        std::mem::forget(of_parent);
    }
    Ok(handle)
}

/// Waits for work of the runtime; the caller may be a thread of another one.
pub(crate) fn wait_for<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> io::Result<T> {
    let (send, receive) = channel();
    handle()?.spawn(async move {
        // The receiver waits below.
        let _ = send.send(work.await);
    });
    let dropped = |_| io::Error::other("the request was dropped: the process is ending");
    receive.recv().map_err(dropped)
}
