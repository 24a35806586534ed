//! Captures on disk, which are generated once and kept.

use crate::generate::{Kind, Plan, generate};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Part of the file names. Increase it when the generator writes other bytes for the same plan.
const VINTAGE: u32 = 4;

/// A capture to be measured.
pub struct BenchCapture {
    /// Its name in tables.
    pub name: &'static str,
    /// Its path.
    pub path: PathBuf,
    /// Number of packets.
    pub packets: u64,
    /// Size of the file.
    pub bytes: u64,
}

impl BenchCapture {
    /// Generates the capture in `dir` unless it exists, and reads it once so that it is in the page cache.
    pub fn new(name: &'static str, plan: &Plan, dir: &Path) -> io::Result<Self> {
        let base = match plan.kind {
            Kind::Query => "query",
            Kind::Mixed => "mixed",
            Kind::Game => "game",
            Kind::Clients => "clients",
            Kind::Servers => "servers",
        };
        let ending = if plan.format.pcapng { "pcapng" } else { "pcap" };
        let Plan { packets, servers, .. } = *plan;
        let path = dir.join(format!("{base}-v{VINTAGE}-{servers}-{packets}.{ending}"));
        if !path.exists() {
            eprintln!("making {}", path.display());
            fs::create_dir_all(dir)?;
            // Under another name until it is complete.
            let part = path.with_extension("part");
            generate(File::create(&part)?, plan)?;
            fs::rename(part, &path)?;
        }
        let bytes = io::copy(&mut File::open(&path)?, &mut io::sink())?;
        Ok(Self { name, path, packets, bytes })
    }

    /// Deletes the capture.
    pub fn remove(self) -> io::Result<()> {
        fs::remove_file(self.path)
    }
}
