//! Formats bytes as tools do, so that any bytes can be tested.

use std::fmt::Write;

/// Writes bytes as text.
pub type Formatter = fn(&[u8]) -> String;

/// Every form for one datagram.
pub const FORMATTERS: &[(&str, Formatter)] = &[
    ("stream", |b| joined(b, "")),
    ("spaced", |b| joined(b, " ")),
    ("colons", |b| joined(b, ":")),
    ("xxd", |b| dump(b, 16, |at, row| format!("{at:08x}: {:<39}  {}", words(row), characters(row)))),
    ("xxd -g1 -c8", |b| {
        dump(b, 8, |at, row| format!("{at:08x}: {:<23}  {}", joined(row, " "), characters(row)))
    }),
    ("xxd -p", |b| b.chunks(30).map(|row| joined(row, "") + "\n").collect()),
    ("hexdump -C", |b| {
        let rows = dump(b, 16, |at, row| {
            let (left, right) = row.split_at(row.len().min(8));
            format!("{at:08x}  {:<23}  {:<23}  |{}|", joined(left, " "), joined(right, " "), characters(row))
        });
        format!("{rows}{:08x}\n", b.len())
    }),
    ("hexdump", |b| {
        let rows = dump(b, 16, |at, row| {
            let words = row.chunks(2).map(|w| format!(" {:02x}{:02x}", w.get(1).unwrap_or(&0), w[0]));
            format!("{at:07x}{}", words.collect::<String>())
        });
        format!("{rows}{:07x}\n", b.len())
    }),
    ("od -t x1", |b| {
        let rows = dump(b, 16, |at, row| format!("{at:07o} {}", joined(row, " ")));
        format!("{rows}{:07o}\n", b.len())
    }),
    ("od -A d -t x1z", |b| {
        let rows = dump(b, 16, |at, row| format!("{at:07} {:<47}  >{}<", joined(row, " "), characters(row)));
        format!("{rows}{:07}\n", b.len())
    }),
    ("wireshark", |b| {
        dump(b, 16, |at, row| format!("{at:04x}  {:<47}   {}", joined(row, " "), characters(row)))
    }),
    ("C array", |b| {
        let rows = b.chunks(8).map(|row| {
            let row: String = row.iter().map(|b| format!("0x{b:02x}, ")).collect();
            row + "\n"
        });
        format!("unsigned char x[] = {{\n{}}};\n", rows.collect::<String>())
    }),
    ("decimal array", |b| {
        let all: Vec<_> = b.iter().map(u8::to_string).collect();
        format!("new byte[] {{{}, }}", all.join(", "))
    }),
    ("Python", |b| format!("b'{}'", escaped(b))),
    ("C string", |b| format!("\"{}\"", b.iter().map(|b| format!("\\x{b:02X}")).collect::<String>())),
    ("Node", |b| format!("<Buffer {}>", joined(b, " "))),
];

fn joined(bytes: &[u8], between: &str) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(between)
}

fn words(bytes: &[u8]) -> String {
    bytes.chunks(2).map(|w| joined(w, "")).collect::<Vec<_>>().join(" ")
}

fn character(b: u8) -> char {
    if (b' '..=b'~').contains(&b) { b as char } else { '.' }
}

fn characters(bytes: &[u8]) -> String {
    bytes.iter().map(|b| character(*b)).collect()
}

fn dump(bytes: &[u8], width: usize, row: impl Fn(usize, &[u8]) -> String) -> String {
    bytes.chunks(width).enumerate().map(|(i, b)| row(i * width, b) + "\n").collect()
}

fn escaped(bytes: &[u8]) -> String {
    let mut out = String::new();
    // A string of hex digits only would be taken for output of `hexlify`, so all bytes are escaped then. Python's `repr` is
    // ambiguous here.
    let plain = bytes.iter().all(|b| b.is_ascii_hexdigit());
    for b in bytes {
        let _ = match b {
            b'\'' | b'\\' => write!(out, "\\{}", *b as char),
            b' '..=b'~' if !plain => write!(out, "{}", *b as char),
            _ => write!(out, "\\x{b:02x}"),
        };
    }
    out
}
