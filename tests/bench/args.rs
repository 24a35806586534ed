//! Command-line arguments: options are taken out by name first, then the words in order.

use std::io;
use std::str::FromStr;

/// The remaining arguments of the command line.
pub struct Arguments(Vec<String>);

impl Arguments {
    /// The arguments of this process; `bench` tells whether `cargo bench` added its `--bench`.
    pub fn of_process() -> (Self, bool) {
        let mut arguments = Self(std::env::args().skip(1).collect());
        let bench = arguments.flag("--bench");
        (arguments, bench)
    }

    /// Takes `name` out and tells whether it was there.
    pub fn flag(&mut self, name: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|word| word != name);
        self.0.len() < before
    }

    /// Takes `name` and its value out.
    pub fn option<T: FromStr>(&mut self, name: &str) -> io::Result<Option<T>> {
        let Some(at) = self.0.iter().position(|word| word == name) else { return Ok(None) };
        self.0.remove(at);
        if at == self.0.len() {
            return Err(wrong(format!("{name} needs a value.")));
        }
        let value = self.0.remove(at);
        value.parse().map(Some).map_err(|_| wrong(format!("{value:?} is no value for {name}.")))
    }

    /// Takes the next word; `what` names it in the error.
    pub fn word<T: FromStr>(&mut self, what: &str) -> io::Result<T> {
        let word = self.next().ok_or_else(|| wrong(format!("{what} is missing.")))?;
        word.parse().map_err(|_| wrong(format!("{word:?} is no {what}.")))
    }

    /// Takes the next word, unless it begins with `--`.
    pub fn next(&mut self) -> Option<String> {
        let word = self.0.first().is_some_and(|word| !word.starts_with("--"));
        word.then(|| self.0.remove(0))
    }

    /// Fails if arguments are left over.
    pub fn finish(self) -> io::Result<()> {
        self.0.first().map_or(Ok(()), |word| Err(wrong(format!("{word:?} is not understood here."))))
    }
}

/// An error about the command line.
pub fn wrong(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}
