//! The threads on which requests run: begun when the first request is made, and anew after a fork,
//! which leaves a process without the threads of its parent.

use std::future::Future;
use std::io;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Semaphore;

static RUNTIME: Mutex<Option<Shared>> = Mutex::new(None);

/// Threads that only wait for answers and copy them.
const THREADS: usize = 2;
/// Requests at the same time.
const MOST_REQUESTS: usize = 16;

/// What all files of a process share.
struct Shared {
    process: u32,
    runtime: Runtime,
    /// Those that a parent process holds would never come back.
    requests: Arc<Semaphore>,
}

/// The runtime of this process, and the requests that it may make at the same time.
pub(crate) fn handle() -> io::Result<(Handle, Arc<Semaphore>)> {
    let mut shared = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some(known) = shared.as_ref().filter(|known| known.process == process) {
        return Ok((known.runtime.handle().clone(), known.requests.clone()));
    }
    let mut builder = Builder::new_multi_thread();
    let builder = builder.worker_threads(THREADS).thread_name("staffa-lake");
    let runtime = builder.enable_all().build()?;
    let (handle, requests) = (
        runtime.handle().clone(),
        Arc::new(Semaphore::new(MOST_REQUESTS)),
    );
    let new = Shared {
        process,
        runtime,
        requests: requests.clone(),
    };
    if let Some(of_parent) = shared.replace(new) {
        // Its threads are not there: to wait for them would take for ever.
        std::mem::forget(of_parent);
    }
    Ok((handle, requests))
}

/// How often a thread that waits asks whether to go on.
pub(crate) const ASKED: Duration = Duration::from_millis(50);

static GO_ON: OnceLock<fn() -> io::Result<()>> = OnceLock::new();

/// What every thread that waits for a store asks, twenty times a second: an error ends the wait, and is its
/// result. For hosts that are interrupted otherwise than by a signal's default action, such as Python. The
/// first one given counts.
pub fn ask_while_waiting(go_on: fn() -> io::Result<()>) {
    GO_ON.get_or_init(|| go_on);
}

/// Whether the thread that waits is to go on.
pub(crate) fn go_on() -> io::Result<()> {
    GO_ON.get().map_or(Ok(()), |go_on| go_on())
}

/// Waits for work of the runtime; the caller may be a thread of another one.
pub(crate) fn wait_for<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> io::Result<T> {
    let (send, receive) = channel();
    let task = handle()?.0.spawn(async move {
        // Nobody receives where the wait was ended.
        let _ = send.send(work.await);
    });
    loop {
        match receive.recv_timeout(ASKED) {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) => go_on().inspect_err(|_| task.abort())?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(io::Error::other(
                    "the request was dropped: the process is ending",
                ));
            }
        }
    }
}
