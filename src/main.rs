#![forbid(unsafe_code)]
use qdissect::{capture::Source, pipeline::*, protocols::Level, report::*};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let path = a.last().unwrap();
    let mut o = Options::default();
    if a.iter().any(|x| x == "low") {
        o.min_confidence = Level::Low;
    }
    let mut source = match Source::open(path.as_ref()) {
        Ok(s) => s,
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(2)
        }
    };
    let mut p = Pipeline::new(o, Records::new(std::io::stdout(), Form::Ndjson, true));
    let r = p.read(&mut source, path);
    let _ = p.finish(r.is_ok());
    if let Err(e) = r {
        eprintln!("{e:?}");
        std::process::exit(2)
    }
}
