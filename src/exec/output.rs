//! The output of the ranks, line by line, each with its rank in front. Nothing here blocks: a slow reader of our output
//! must not delay a signal to the ranks.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::unistd::geteuid;

use crate::host::Host;
use crate::report::secrets::Secrets;
use crate::report::{self, OutputFile, Problem};

/// A write of up to this size to a pipe is atomic.
const PIPE_BUF: usize = 4096;
/// The size of one read.
pub(super) const READ_SIZE: usize = 16 << 10;
/// While more than this is queued, the ranks are not read.
const MAX_QUEUE: usize = 1 << 20;
/// Longer lines are cut: a line is kept in memory until it ends.
const MAX_LINE: usize = 64 << 20;

/// Our own stdout or stderr, where the lines of all ranks go.
pub(super) struct Console {
    file: File,
    queue: Vec<u8>,
    /// How much of the queue is written.
    written: usize,
    /// Nobody reads it any more.
    closed: bool,
}

impl Console {
    pub(super) fn new(stream: impl AsFd) -> io::Result<Self> {
        let file = File::from(stream.as_fd().try_clone_to_owned()?);
        Ok(Console { file, queue: Vec::new(), written: 0, closed: false })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.written == self.queue.len()
    }

    fn is_full(&self) -> bool {
        self.queue.len() - self.written > MAX_QUEUE
    }

    /// Called when the file is ready. Writes whole lines where they fit into one atomic write, so that they do not mix
    /// with those of others on the same pipe.
    pub(super) fn write(&mut self) {
        let unwritten = &self.queue[self.written..];
        let fits = &unwritten[..unwritten.len().min(PIPE_BUF)];
        let lines = fits.iter().rposition(|byte| *byte == b'\n').map_or(fits.len(), |at| at + 1);
        match self.file.write(&fits[..lines]) {
            Ok(count) => self.written += count,
            Err(why) if matches!(why.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => self.closed = true,
        }
        if self.is_empty() || self.closed {
            self.queue.clear();
            self.written = 0;
        } else if self.written > MAX_QUEUE {
            self.queue.drain(..self.written);
            self.written = 0;
        }
    }
}

impl AsFd for Console {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// The log file of one rank.
pub(super) struct RankLog {
    pub(super) file: File,
    path: PathBuf,
}

impl RankLog {
    pub(super) fn path(folder: &Path, rank: impl Display) -> PathBuf {
        folder.join(format!("rank{rank}.log"))
    }

    /// Appends to what an earlier launch wrote. Refuses links, pipes, and files that others can read or that have a
    /// second name: in a shared folder somebody else may have planted them.
    pub(super) fn open(folder: &Path, rank: u32) -> Result<Self, Problem> {
        let path = Self::path(folder, rank);
        let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
        let file = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(&path);
        let file = file.and_then(|file| {
            let seen = file.metadata()?;
            let reason = if !seen.is_file() {
                "it is not a regular file"
            } else if seen.mode() & 0o077 != 0 || seen.uid() != geteuid().as_raw() {
                "others can read what is there (`chmod 600` closes it)"
            } else if seen.nlink() > 1 {
                "it has more than one name"
            } else {
                return Ok(file);
            };
            Err(io::Error::other(reason))
        });
        file.map_err(|why| report::cannot_write(OutputFile::LOG, &path, &why)).map(|file| RankLog { file, path })
    }

    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(RankLog { file: self.file.try_clone()?, path: self.path.clone() })
    }
}

/// The stdout or stderr of one rank.
pub(super) struct RankStream {
    pipe: File,
    prefix: String,
    lines: LineSplitter,
    log: Option<RankLog>,
    /// The index of the console it goes to.
    console: usize,
    pub(super) open: bool,
}

impl RankStream {
    pub(super) fn new(pipe: OwnedFd, rank: u32, console: usize, log: Option<RankLog>) -> io::Result<Self> {
        fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        let (prefix, lines) = (format!("[rank {rank}] "), LineSplitter::default());
        Ok(RankStream { pipe: File::from(pipe), prefix, lines, log, console, open: true })
    }

    pub(super) fn wants_to_be_read(&self, consoles: &[Console]) -> bool {
        self.open && !consoles[self.console].is_full()
    }

    /// Reads once. Returns whether there may be more to read now.
    pub(super) fn read(&mut self, consoles: &mut [Console]) -> bool {
        let mut buffer = [0; READ_SIZE];
        match self.pipe.read(&mut buffer) {
            Ok(0) => self.close(consoles),
            Ok(count) => {
                let mut lines = std::mem::take(&mut self.lines);
                lines.add(&buffer[..count], |line| self.pass_on(line, consoles));
                self.lines = lines;
                // If nobody takes the output, the rank gets SIGPIPE as it would without us.
                self.open = self.log.is_some() || !consoles[self.console].closed;
            }
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => return false,
            Err(_) => self.close(consoles),
        }
        self.open
    }

    /// Passes on the last line even if it has no end.
    pub(super) fn close(&mut self, consoles: &mut [Console]) {
        let rest = std::mem::take(&mut self.lines.partial);
        if !rest.is_empty() {
            self.pass_on(&rest, consoles);
            let console = &mut consoles[self.console];
            if !console.closed && rest.last() != Some(&b'\r') {
                console.queue.push(b'\n');
            }
        }
        self.open = false;
    }

    fn pass_on(&mut self, line: &[u8], consoles: &mut [Console]) {
        let console = &mut consoles[self.console];
        if !console.closed {
            // A progress bar returns to the margin before it draws.
            if line != b"\r" {
                console.queue.extend(self.prefix.as_bytes());
            }
            console.queue.extend(line);
        }
        if let Some(why) = self.log.as_mut().and_then(|log| log.file.write_all(line).err())
            && let Some(log) = self.log.take()
        {
            report::report(
                &[report::cannot_write(OutputFile::LOG, &log.path, &why).into_warning()],
                &Secrets::of(&Host::default()),
            );
        }
    }
}

impl AsFd for RankStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

/// Cuts a stream after `\n`, `\r\n`, and the `\r` with which a progress bar is drawn again.
#[derive(Default)]
struct LineSplitter {
    /// Contains no end of a line, except for a last `\r`: the next byte may be its `\n`.
    partial: Vec<u8>,
}

impl LineSplitter {
    fn add(&mut self, bytes: &[u8], mut line: impl FnMut(&[u8])) {
        let mut at = self.partial.len().saturating_sub(1);
        self.partial.extend(bytes);
        let mut start = 0;
        while let Some(found) = self.partial[at..].iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let end = at + found + 1;
            let next = self.partial.get(end);
            match (self.partial[end - 1], next) {
                (b'\r', None) => break,
                (b'\r', Some(b'\n')) => at = end,
                _ => {
                    line(&self.partial[start..end]);
                    (start, at) = (end, end);
                }
            }
        }
        self.partial.drain(..start);
        if self.partial.len() > MAX_LINE {
            line(&std::mem::take(&mut self.partial));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(reads: &[&str]) -> Vec<String> {
        let (mut lines, mut found) = (LineSplitter::default(), Vec::new());
        for read in reads {
            lines.add(read.as_bytes(), |line| found.push(String::from_utf8_lossy(line).into_owned()));
        }
        found.push(format!("+{}", String::from_utf8_lossy(&lines.partial)));
        found
    }

    #[test]
    fn lines_are_whole_however_they_arrive() {
        assert_eq!(split(&["a\nb\n"]), ["a\n", "b\n", "+"]);
        assert_eq!(split(&["a", "b", "\n", "\n", "c"]), ["ab\n", "\n", "+c"]);
        assert_eq!(split(&["a\r\nb\r", "\nc"]), ["a\r\n", "b\r\n", "+c"]);
        assert_eq!(split(&["\r10%", "\r20%\r", "30%\n"]), ["\r", "10%\r", "20%\r", "30%\n", "+"]);
        assert_eq!(split(&["a\r", "\r", "b"]), ["a\r", "\r", "+b"]);
        assert_eq!(split(&["x\n\r"]), ["x\n", "+\r"]);
    }

    #[test]
    fn lines_do_not_depend_on_how_they_are_read() {
        let text = "one\ntwo\r\nthree\rfour\n\n\r\r\nfive\n";
        let whole = split(&[text]);
        for at in 0..text.len() {
            for to in at..text.len() {
                assert_eq!(split(&[&text[..at], &text[at..to], &text[to..]]), whole, "{at} {to}");
            }
        }
    }
}
