//! What the ranks print, passed on line by line: each with its rank in front, none torn, none lost. Nothing here ever
//! waits, so that a reader who is slow cannot keep a signal from the ranks.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::unistd::geteuid;

use crate::report::secrets::Secrets;
use crate::report::{self, OutputFile, Problem};

/// A pipe takes this much at once or not at all.
const PIPE_BUF: usize = 4096;
/// Read at once.
pub(super) const PORTION: usize = 16 << 10;
/// A reader this far behind holds the ranks up.
const MOST_QUEUED: usize = 1 << 20;
/// Longer lines are cut: nobody reads them, and they have to be kept until they end.
const LONGEST_LINE: usize = 64 << 20;

/// Where the lines of all ranks go: our own stdout or stderr.
pub(super) struct Console {
    file: File,
    queue: Vec<u8>,
    sent: usize,
    /// Nobody reads it any more.
    closed: bool,
}

impl Console {
    pub(super) fn new(stream: impl AsFd) -> io::Result<Self> {
        let file = File::from(stream.as_fd().try_clone_to_owned()?);
        Ok(Console { file, queue: Vec::new(), sent: 0, closed: false })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sent == self.queue.len()
    }

    fn is_full(&self) -> bool {
        self.queue.len() - self.sent > MOST_QUEUED
    }

    /// When it is ready: whole lines as far as they fit, so that a pipe shared with others stays readable.
    pub(super) fn write(&mut self) {
        let waiting = &self.queue[self.sent..];
        let fits = &waiting[..waiting.len().min(PIPE_BUF)];
        let lines = fits.iter().rposition(|byte| *byte == b'\n').map_or(fits.len(), |at| at + 1);
        match self.file.write(&fits[..lines]) {
            Ok(count) => self.sent += count,
            Err(why) if matches!(why.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => self.closed = true,
        }
        if self.is_empty() || self.closed {
            self.queue.clear();
            self.sent = 0;
        } else if self.sent > MOST_QUEUED {
            self.queue.drain(..self.sent);
            self.sent = 0;
        }
    }
}

impl AsFd for Console {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// The log of one rank beside the console.
pub(super) struct Log {
    pub(super) file: File,
    path: PathBuf,
}

impl Log {
    pub(super) fn path(folder: &Path, rank: impl Display) -> PathBuf {
        folder.join(format!("rank{rank}.log"))
    }

    /// What an earlier launch wrote stays. A link is not followed, a pipe not waited for, and a file that others can read or
    /// reach by another name not written: in a shared folder each might be somebody's trap.
    pub(super) fn open(folder: &Path, rank: u32) -> Result<Self, Problem> {
        let path = Self::path(folder, rank);
        let alone = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
        let file = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(alone).open(&path);
        let file = file.and_then(|file| {
            let seen = file.metadata()?;
            let trap = if !seen.is_file() {
                "it is not a regular file"
            } else if seen.mode() & 0o077 != 0 || seen.uid() != geteuid().as_raw() {
                "others can read what is there (`chmod 600` closes it)"
            } else if seen.nlink() > 1 {
                "it has more than one name"
            } else {
                return Ok(file);
            };
            Err(io::Error::other(trap))
        });
        file.map_err(|why| report::cannot_write(OutputFile::LOG, &path, &why)).map(|file| Log { file, path })
    }

    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(Log { file: self.file.try_clone()?, path: self.path.clone() })
    }
}

/// One stream of one rank.
pub(super) struct Stream {
    source: File,
    prefix: String,
    lines: Lines,
    log: Option<Log>,
    /// Which console it goes to.
    console: usize,
    pub(super) open: bool,
}

impl Stream {
    pub(super) fn new(source: OwnedFd, rank: u32, console: usize, log: Option<Log>) -> io::Result<Self> {
        fcntl(&source, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        let (prefix, lines) = (format!("[rank {rank}] "), Lines::default());
        Ok(Stream { source: File::from(source), prefix, lines, log, console, open: true })
    }

    pub(super) fn wants_to_be_read(&self, consoles: &[Console]) -> bool {
        self.open && !consoles[self.console].is_full()
    }

    /// One portion of what there is; whether there may be more now.
    pub(super) fn read(&mut self, consoles: &mut [Console]) -> bool {
        let mut portion = [0; PORTION];
        match self.source.read(&mut portion) {
            Ok(0) => self.end(consoles),
            Ok(count) => {
                let mut lines = std::mem::take(&mut self.lines);
                lines.add(&portion[..count], |line| self.pass_on(line, consoles));
                self.lines = lines;
                // Then the rank learns it as it would without us.
                self.open = self.log.is_some() || !consoles[self.console].closed;
            }
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => return false,
            Err(_) => self.end(consoles),
        }
        self.open
    }

    /// What nobody will complete is a line, too.
    pub(super) fn end(&mut self, consoles: &mut [Console]) {
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
            // A progress bar starts by going back to the margin.
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
                &Secrets::default(),
            );
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.source.as_fd()
    }
}

/// Cuts a stream behind `\n`, `\r\n`, and the `\r` by which a progress bar is drawn over itself.
#[derive(Default)]
struct Lines {
    /// Has no end of a line in it, but for a `\r` that the next byte explains.
    partial: Vec<u8>,
}

impl Lines {
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
        if self.partial.len() > LONGEST_LINE {
            line(&std::mem::take(&mut self.partial));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(portions: &[&str]) -> Vec<String> {
        let (mut lines, mut found) = (Lines::default(), Vec::new());
        for portion in portions {
            lines.add(portion.as_bytes(), |line| found.push(String::from_utf8_lossy(line).into_owned()));
        }
        found.push(format!("+{}", String::from_utf8_lossy(&lines.partial)));
        found
    }

    #[test]
    fn lines_are_whole_however_they_arrive() {
        assert_eq!(cut(&["a\nb\n"]), ["a\n", "b\n", "+"]);
        assert_eq!(cut(&["a", "b", "\n", "\n", "c"]), ["ab\n", "\n", "+c"]);
        assert_eq!(cut(&["a\r\nb\r", "\nc"]), ["a\r\n", "b\r\n", "+c"]);
        assert_eq!(cut(&["\r10%", "\r20%\r", "30%\n"]), ["\r", "10%\r", "20%\r", "30%\n", "+"]);
        assert_eq!(cut(&["a\r", "\r", "b"]), ["a\r", "\r", "+b"]);
        assert_eq!(cut(&["x\n\r"]), ["x\n", "+\r"]);
    }

    #[test]
    fn any_cut_gives_the_same_lines() {
        let text = "one\ntwo\r\nthree\rfour\n\n\r\r\nfive\n";
        let whole = cut(&[text]);
        for at in 0..text.len() {
            for to in at..text.len() {
                assert_eq!(cut(&[&text[..at], &text[at..to], &text[to..]]), whole, "{at} {to}");
            }
        }
    }
}
