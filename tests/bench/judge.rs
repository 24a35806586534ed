//! Compares figures with limits for `gate`, without measuring anything. The file has one entry for each compiler, because
//! compilers generate different machine code:
//!
//! ```text
//! [{ "release": "1.95.0", "llvm": "22.1.2", "target": "x86_64-unknown-linux-gnu",
//!    "figures": { "NAME": VALUE, … } }, …]
//! ```

use serde_json::{Map, Value, json};
use std::fmt::Write;

/// Allowed difference of instructions from their limit, for the same compiler.
pub const MARGIN: f64 = 0.03;
/// Allowed difference of instructions for another compiler, and of memory in any case, because the kernel decides which pages of
/// program and libraries are resident.
pub const WIDE_MARGIN: f64 = 0.10;
/// Allowed difference of misses of the last-level cache; twice that for another compiler. The same tables at other addresses
/// changed them by 9 %.
pub const MISS_MARGIN: f64 = 0.15;
/// Minimum allowed difference in misses per packet: if few packets miss, different addresses alone gave 0.33 to 0.43.
pub const FEWEST_MISSES: f64 = 0.12;
/// Allowed difference of misses of code: the same source built in two folders had 55 and 70 per packet.
pub const CODE_MISS_MARGIN: f64 = 0.30;
/// How much the peak memory may grow with four times the packets, because some tables are not yet full in the smaller capture.
/// One byte kept for each packet would exceed it.
pub const GROWTH: f64 = 0.10;

/// The compiler of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    /// Version of rustc.
    pub release: String,
    /// Version of LLVM.
    pub llvm: String,
    /// Triple of the machine.
    pub target: String,
}

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Instructions a packet, as callgrind counts them.
    Instructions,
    /// Misses of the first-level cache for code a packet, as callgrind simulates it.
    CodeMisses,
    /// Misses of the last-level cache a packet, as callgrind simulates it.
    Misses,
    /// Largest resident set in KiB.
    Memory,
}

/// A measured value; less is better.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name in the file.
    pub name: String,
    /// What it counts.
    pub unit: Unit,
    /// How much.
    pub value: f64,
}

impl Unit {
    /// The allowed difference as a share of the limit, for the same compiler or another one.
    fn margin(self, limit: f64, same: bool) -> f64 {
        let times = if same { 1.0 } else { 2.0 };
        match self {
            Unit::Instructions if same => MARGIN,
            Unit::Instructions | Unit::Memory => WIDE_MARGIN,
            Unit::CodeMisses => times * CODE_MISS_MARGIN,
            Unit::Misses => times * MISS_MARGIN.max(FEWEST_MISSES / limit),
        }
    }

    /// Number of decimals: misses per packet may be less than one.
    fn digits(self) -> usize {
        match self {
            Unit::Instructions | Unit::Memory => 0,
            Unit::CodeMisses | Unit::Misses => 2,
        }
    }
}

/// Limits for one compiler.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    compiler: Compiler,
    figures: Vec<(String, f64)>,
}

/// The file of limits.
#[derive(Debug, PartialEq)]
pub struct Limits(Vec<Entry>);

/// The result of the comparison.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Lines for people.
    pub text: String,
    /// Number of figures above their limit.
    pub failures: usize,
}

impl Compiler {
    /// Reads the answer of `rustc -vV`.
    pub fn parse(answer: &str) -> Option<Self> {
        let of = |key: &str| {
            answer.lines().find_map(|line| line.strip_prefix(key)).map(|value| value.trim().to_owned())
        };
        Some(Self { release: of("release:")?, llvm: of("LLVM version:")?, target: of("host:")? })
    }

    /// Versions as numbers, to find the newest.
    fn age(&self) -> [Vec<u64>; 2] {
        [&self.release, &self.llvm].map(|version| {
            let numbers = version.split('-').next().unwrap_or_default().split('.');
            numbers.map(|number| number.parse().unwrap_or(0)).collect()
        })
    }

    /// For messages.
    pub fn name(&self) -> String {
        format!("rustc {} with LLVM {} on {}", self.release, self.llvm, self.target)
    }
}

impl Limits {
    /// Reads the file; `None` if it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let entries: Vec<Value> = serde_json::from_str(text).ok()?;
        entries.iter().map(entry).collect::<Option<Vec<_>>>().map(Self)
    }

    /// The file.
    pub fn text(&self) -> String {
        let entries = self.0.iter().map(|Entry { compiler, figures }| {
            let number = |value: f64| if value.fract() > 0.0 { json!(value) } else { json!(value as u64) };
            let figures: Map<_, _> =
                figures.iter().map(|(name, value)| (name.clone(), number(*value))).collect();
            let Compiler { release, llvm, target } = compiler;
            json!({ "release": release, "llvm": llvm, "target": target, "figures": figures })
        });
        format!("{:#}\n", Value::Array(entries.collect()))
    }

    /// Replaces the limits of this compiler, or adds them.
    pub fn set(&mut self, compiler: &Compiler, figures: &[Figure]) {
        let round = |f: &Figure| {
            let unit = 10_f64.powi(f.unit.digits() as i32);
            (f.value * unit).round() / unit
        };
        let rounded = figures.iter().map(|f| (f.name.clone(), round(f))).collect();
        match self.0.iter_mut().find(|entry| entry.compiler == *compiler) {
            Some(entry) => entry.figures = rounded,
            None => self.0.push(Entry { compiler: compiler.clone(), figures: rounded }),
        }
    }

    /// Compares figures with the limits of this compiler. If it has none, those of the newest compiler for the same target are
    /// used with wider margins.
    pub fn judge(&self, compiler: &Compiler, figures: &[Figure]) -> Verdict {
        let mut verdict = Verdict::default();
        let same = self.0.iter().find(|entry| entry.compiler == *compiler);
        let of_target = self.0.iter().filter(|entry| entry.compiler.target == compiler.target);
        let Some(entry) = same.or_else(|| of_target.max_by_key(|entry| entry.compiler.age())) else {
            verdict.add_line(&format!("There are no limits for {}: nothing is compared.", compiler.target));
            return verdict;
        };
        if same.is_none() {
            let (this, other) = (compiler.name(), entry.compiler.name());
            verdict.add_line(&format!(
                "There are no limits for {this}: compared with those for {other}, at wider margins. To set them: {UPDATE}."
            ));
        }
        for figure in figures {
            let limit = entry.figures.iter().find(|(name, _)| *name == figure.name);
            verdict.compare(figure, limit.map(|(_, limit)| *limit), same.is_some());
        }
        for (name, _) in &entry.figures {
            if !figures.iter().any(|figure| figure.name == *name) {
                verdict.add_line(&format!("{name}: not measured here."));
            }
        }
        verdict
    }
}

/// The command that replaces the limits by the current figures.
pub const UPDATE: &str = "cargo test --bench qdissect_bench -- gate --update";

impl Verdict {
    fn add_line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn fail(&mut self, line: &str) {
        self.failures += 1;
        self.add_line(&format!("FAILED: {line}"));
    }

    /// Compares one figure with its limit; `same` compiler or another one.
    fn compare(&mut self, figure: &Figure, limit: Option<f64>, same: bool) {
        let Figure { name, unit, value } = figure;
        let digits = unit.digits();
        let Some(limit) = limit.filter(|limit| *limit > 0.0) else {
            return self
                .fail(&format!("{name}: {value:.digits$}, and there is no limit. To set it: {UPDATE}."));
        };
        let margin = unit.margin(limit, same);
        let (change, percent) = (value / limit - 1.0, margin * 100.0);
        let mut line = String::new();
        let _ = write!(line, "{name}: {value:.digits$}, limit {limit:.digits$} ({:+.1} %)", change * 100.0);
        if change > margin {
            self.fail(&format!(
                "{line}: more than {percent:.0} % too much. Find out why; if it is worth it: {UPDATE}."
            ));
        } else if change < -margin && same {
            self.add_line(&format!("{line}: better by more than {percent:.0} %. Lower the limit: {UPDATE}."));
        } else {
            self.add_line(&format!("{line}."));
        }
    }

    /// Compares the peak memory of a capture with that of one a fourth as long.
    pub fn compare_growth(&mut self, name: &str, [short, long]: [f64; 2]) {
        let line = format!("{name}: {short:.0} KiB, and {long:.0} KiB of four times the packets");
        if long > short * (1.0 + GROWTH) {
            self.fail(&format!(
                "{line}: memory grows with the capture, which must not be. Look for a table without a bound."
            ));
        } else {
            self.add_line(&format!("{line}."));
        }
    }
}

fn entry(value: &Value) -> Option<Entry> {
    let text = |key: &str| value.get(key)?.as_str().map(str::to_owned);
    let compiler = Compiler { release: text("release")?, llvm: text("llvm")?, target: text("target")? };
    let figures = value.get("figures")?.as_object()?;
    let figures = figures.iter().map(|(name, value)| Some((name.clone(), value.as_f64()?)));
    Some(Entry { compiler, figures: figures.collect::<Option<_>>()? })
}
