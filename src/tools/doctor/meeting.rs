//! Each machine tells the first one about itself, where the ranks would meet: a line of JSON, then the exit status.

use std::io::{self, BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes that a machine may send.
const MOST: u64 = 1 << 20;
const PAUSE: Duration = Duration::from_millis(50);

/// Listens as the first rank would, until this process ends. A line comes with the connection for the reply.
pub(super) fn listen(port: u16, patience: Duration) -> io::Result<Receiver<(String, TcpStream)>> {
    let bind = |address: IpAddr| TcpListener::bind((address, port));
    let listener = bind(Ipv6Addr::UNSPECIFIED.into()).or_else(|_| bind(Ipv4Addr::UNSPECIFIED.into()))?;
    let (sender, heard) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming().flatten().take(1 << 14) {
            let sender = sender.clone();
            thread::spawn(move || line(&stream, patience).map(|line| sender.send((line, stream))));
        }
    });
    Ok(heard)
}

pub(super) fn line(stream: &TcpStream, patience: Duration) -> Option<String> {
    stream.set_read_timeout(Some(patience)).ok()?;
    let mut line = String::new();
    BufReader::new(stream.take(MOST)).read_line(&mut line).ok()?;
    line.strip_suffix('\n').map(str::to_string)
}

/// Connects as a rank would, in this time; or why that is impossible. The first machine may begin later.
pub(super) fn reach(addresses: &[IpAddr], port: u16, until: Instant) -> Result<(TcpStream, Duration), String> {
    loop {
        let mut failed = "the name leads nowhere".to_string();
        for address in addresses {
            let start = Instant::now();
            match TcpStream::connect_timeout(&(*address, port).into(), (until - start).max(PAUSE)) {
                Ok(stream) => return Ok((stream, start.elapsed())),
                Err(why) => failed = format!("{address}: {}", why.to_string().to_lowercase()),
            }
        }
        if Instant::now() + PAUSE >= until || addresses.is_empty() {
            return Err(failed.split(" (os error").next().unwrap_or_default().to_string());
        }
        thread::sleep(PAUSE);
    }
}
