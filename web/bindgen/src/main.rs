//! `bindgen INPUT.wasm DIRECTORY`: writes the WebAssembly as browsers load it, and the JavaScript that calls it.

use std::env::args_os;
use wasm_bindgen_cli_support::Bindgen;

fn main() {
    let [input, to] = [1, 2].map(|at| args_os().nth(at).expect("bindgen INPUT.wasm DIRECTORY"));
    let mut bindgen = Bindgen::new();
    bindgen.input_path(input).typescript(false).remove_name_section(true).remove_producers_section(true);
    let written = bindgen.no_modules(true).and_then(|bindgen| bindgen.generate(to));
    written.expect("the page's WebAssembly can be read");
}
