//! The port on which the ranks of a job meet, where nobody names one.

use crate::base::bytes::fnv1a;
use crate::base::source::Sourced;

/// A port that every node of a job computes alike and two jobs rarely share. It lies below the range from which the
/// system takes ports for outgoing connections. Ids that differ in one number, as those of jobs and processes that start
/// together do, never have the same one.
pub fn port_of_job(job: &Sourced<String>) -> Sourced<u16> {
    const FIRST: u16 = 20_000;
    // Primes: whatever a number is multiplied with, neighbours stay apart.
    const COUNT: u64 = 12_007;
    const FACTOR: u64 = 1_009;
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let parts = job.value.as_bytes().chunk_by(|one, two| is_digit(one) == is_digit(two));
    let number = parts.fold(0, |sum, part| {
        let digits = str::from_utf8(part).ok().and_then(|text| text.parse::<u64>().ok());
        (sum * FACTOR + digits.unwrap_or_else(|| fnv1a(part)) % COUNT) % COUNT
    });
    Sourced::new(FIRST + u16::try_from(number).unwrap_or(0), job.from.clone())
}
