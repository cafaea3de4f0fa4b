//! What a query costs with its tables in an object store, by a model of the machine.
//!
//! ```text
//! seconds = max(CPU time / cores, bytes / bandwidth)
//! dollars = seconds x instance / 3600 + gets x get / 1000 + lists x list / 1000
//! ```
//!
//! The model of BtrBlocks (section 6.7): downloads and decoding overlap, so the slower one decides.

use std::io::{self, Write};
use std::str::FromStr;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::Result;
use super::counted::Counts;

/// A machine and the prices of its provider.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Bytes a second between the machine and the store.
    bandwidth: f64,
    /// Dollars an hour.
    instance: f64,
    /// Of the machine; the query is taken to keep all of them busy.
    cores: f64,
    /// Dollars for 1,000 requests for bytes.
    get: f64,
    /// Dollars for 1,000 requests that list objects.
    list: f64,
}

impl Default for Model {
    /// A `c5n.18xlarge` in BtrBlocks' table 5: 100 Gbit/s, 36 cores, $3.89 an hour.
    fn default() -> Self {
        Self {
            bandwidth: 12.5e9,
            instance: 3.89,
            cores: 36.0,
            get: 0.0004,
            list: 0.005,
        }
    }
}

impl FromStr for Model {
    type Err = String;

    /// `NAME=NUMBER,...`; what is not named has its default.
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let mut model = Self::default();
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let (name, number) = part
                .split_once('=')
                .ok_or_else(|| format!("NAME=NUMBER expected, found {part:?}"))?;
            let place = match name.trim() {
                "bandwidth" => &mut model.bandwidth,
                "instance" => &mut model.instance,
                "cores" => &mut model.cores,
                "get" => &mut model.get,
                "list" => &mut model.list,
                other => {
                    let names = "bandwidth, instance, cores, get or list";
                    return Err(format!("{names} expected, found {other:?}"));
                }
            };
            let number: f64 = number.trim().parse().unwrap_or(f64::NAN);
            let divides = matches!(name.trim(), "bandwidth" | "cores");
            if !number.is_finite() || number < 0.0 || (divides && number == 0.0) {
                let what = if divides { "above 0" } else { "of at least 0" };
                return Err(format!("{name}: a number {what} expected, found {part:?}"));
            }
            *place = number;
        }
        Ok(model)
    }
}

impl Model {
    /// Prints what a query cost: one `name: number` a line.
    pub fn print(&self, counts: Counts, cpu: Duration) -> Result<()> {
        let download = counts.bytes as f64 / self.bandwidth;
        let compute = cpu.as_secs_f64() / self.cores;
        let seconds = download.max(compute);
        let of_machine = seconds * self.instance / 3600.0;
        let of_requests = (counts.gets as f64 * self.get + counts.lists as f64 * self.list) / 1e3;
        let mut out = io::stderr().lock();
        writeln!(out, "requests for bytes: {}", counts.gets)?;
        writeln!(out, "requests for lists: {}", counts.lists)?;
        writeln!(out, "bytes of objects: {}", counts.bytes)?;
        writeln!(out, "seconds to download: {download:.6}")?;
        writeln!(out, "seconds to compute: {compute:.6}")?;
        writeln!(out, "seconds: {seconds:.6}")?;
        writeln!(out, "dollars for the machine: {of_machine:.9}")?;
        writeln!(out, "dollars for requests: {of_requests:.9}")?;
        writeln!(out, "dollars: {:.9}", of_machine + of_requests)?;
        Ok(())
    }
}

/// CPU time of this process.
pub fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.try_into().unwrap_or_default(),
        time.tv_nsec.try_into().unwrap_or_default(),
    )
}
