//! A folder whose server is gone keeps whoever looks into it for ever. The user's own folders may be such ones, and a
//! launch looks into them for templates, for packages and for what it wrote before.

use std::path::{Path, PathBuf};
use std::process;
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, openat2};

use crate::host::Host;
use crate::report::secrets::Secrets;
use crate::report::{self, REFUSED};

/// A server that is alive, but must be connected to first, takes seconds.
const PATIENCE: Duration = Duration::from_secs(15);
/// `RESOLVE_CACHED`: only as far as nobody has to be asked.
const CACHED: u64 = 0x20;

/// Decides, and ends zlaunch with a sentence where that takes for ever. Only another thread can: a call that waits for a
/// server hears no signal but one that kills. One is started where the answer is not at hand, so mostly never.
pub(crate) fn patiently<T>(host: &Host, decide: impl FnOnce() -> T) -> T {
    let ours = [host.config_home(), host.cache_home()];
    // Python's packages of the user, where nothing else of ours is there.
    let away = |home: &PathBuf| !ours.iter().flatten().any(|folder| folder.starts_with(home));
    let packages = host.home().filter(away).map(|home| home.join(".local"));
    let folders = ours.into_iter().chain([packages]).flatten();
    let Some(folder) = folders.into_iter().find(|folder| must_be_asked_for(folder)) else { return decide() };
    let watching = Builder::new().stack_size(64 << 10).spawn(move || watch(&folder));
    let decided = decide();
    // No second thread may be there later: a signal for the ranks could be given to it.
    if let Ok(watching) = watching {
        watching.thread().unpark();
        let _ = watching.join();
    }
    decided
}

/// Whether the system would have to ask a disk or a server. Older systems cannot tell.
fn must_be_asked_for(folder: &Path) -> bool {
    let how = OpenHow::new().flags(OFlag::O_PATH | OFlag::O_CLOEXEC).resolve(ResolveFlag::from_bits_retain(CACHED));
    openat2(AT_FDCWD, folder, how).is_err_and(|why| why == Errno::EAGAIN)
}

#[expect(clippy::disallowed_methods, reason = "the main thread does not come back")]
fn watch(folder: &Path) {
    let start = Instant::now();
    // Woken up means answered; it may also wake by itself, and then it is early.
    thread::park_timeout(PATIENCE);
    if start.elapsed() >= PATIENCE {
        report::report(&[report::does_not_answer(folder, PATIENCE)], &Secrets::default());
        process::exit(REFUSED.into());
    }
}
