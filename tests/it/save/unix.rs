//! `-w` with FIFOs, and with inputs that change meanwhile.

use super::*;
use std::thread;

fn fifo(folder: &TempDir, name: &str) -> String {
    let fifo = at(folder, name);
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    fifo
}

fn fill(fifo: &str) {
    let mut to = File::options().write(true).open(fifo).unwrap();
    to.write_all(&fs::read(DEMO).unwrap()).unwrap();
}

#[test]
fn a_fifo_is_read_and_written() {
    let folder = tempdir().unwrap();
    let (input, output) = (fifo(&folder, "in"), fifo(&folder, "out"));
    let expected = at(&folder, "expected.pcapng");
    sound(&["dump", "-w", &expected, DEMO]);
    let mut child = qdissect(&["dump", "-q", "-w", &output, &input]).spawn().unwrap();
    let reader = thread::spawn(move || fs::read(output).unwrap());
    fill(&input);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(reader.join().unwrap(), fs::read(expected).unwrap());
    assert_eq!(names(folder.path()), ["expected.pcapng", "in", "out"], "it is no file now");
}

/// The second input is a FIFO: while the program waits for it, the first one changes.
#[test]
fn an_input_that_changes_between_the_passes_is_an_error() {
    let folder = tempdir().unwrap();
    let (input, late) = (at(&folder, "in.pcapng"), fifo(&folder, "late"));
    let file = at(&folder, "out.pcapng");
    type Change = fn(&str);
    let changes: [Change; 3] = [
        |path| fs::remove_file(path).unwrap(),
        |path| fs::write(path, &fs::read(DEMO).unwrap()[..9000]).unwrap(),
        |path| File::options().append(true).open(path).unwrap().write_all(&[0; 12]).unwrap(),
    ];
    for change in changes {
        fs::copy(DEMO, &input).unwrap();
        let mut command = qdissect(&["dump", "-w", &file, &input, &late]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // The FIFO is open at the other end, so the first input has been read completely.
        let mut to = File::options().write(true).open(&late).unwrap();
        change(&input);
        to.write_all(&fs::read(DEMO).unwrap()).unwrap();
        drop(to);
        // The result fits into a pipe, so neither side blocks.
        let output = child.wait_with_output().unwrap();
        let stderr = str::from_utf8(&output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert_eq!(
            stderr,
            format!(
                "error: \"{input}\" has changed since it was read, and no capture was written; run it again.\n"
            )
        );
        let result = str::from_utf8(&output.stdout).unwrap();
        assert_eq!(result.matches("== ").count(), 2, "it is there");
        assert!(!names(folder.path()).contains(&"out.pcapng".to_owned()));
    }
}
