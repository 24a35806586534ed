//! The documentation: its commands are run, and its links must have targets.
//!
//! Only on Linux, because the output of `sort`, `uniq` and `diff` differs between systems.
#![cfg(target_os = "linux")]

mod links;
mod pages;
mod run;
mod shell;

use pages::{Block, blocks, pages};
use run::{Checkout, Ended, is_there};
use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// Optional programs: a block that needs a missing one is skipped.
const OPTIONAL: [&str; 5] = ["jq", "python3", "tshark", "dumpcap", "tcpdump"];
/// A block that takes longer waits for something that never comes.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs every shell block without a mark that says why not, and compares the output with the block below it. `UPDATE_DOCS=1 cargo
/// test --test it documents::` writes it anew.
#[test]
fn documented_commands_print_the_documented_output() {
    let update = std::env::var_os("UPDATE_DOCS").is_some();
    let mut tried = Tried::default();
    for (path, text) in pages() {
        let page = try_page(&path, &text, &mut tried);
        if update && page != text {
            std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(path), page).unwrap();
        }
    }
    println!(
        "{} blocks ran; {} were left out; {} are marked as not to be run",
        tried.ran, tried.left, tried.marked
    );
    assert!(tried.wrong.is_empty(), "{}", tried.wrong.join("\n\n"));
    assert!(tried.ran + tried.left > 20 && tried.marked > 5, "the blocks are found");
}

/// The results of the blocks.
#[derive(Default)]
struct Tried {
    ran: usize,
    left: usize,
    marked: usize,
    wrong: Vec<String>,
}

/// Runs the blocks of a page in one checkout, in order, and returns the page with their output.
fn try_page(path: &Path, text: &str, tried: &mut Tried) -> String {
    let (blocks, mut checkout, mut page) = (blocks(text), None, text.to_owned());
    let mut printed = vec![];
    for (i, block) in blocks.iter().enumerate() {
        let place = format!("{}:{}", path.display(), block.line);
        if let Some(name) = saved_as(block) {
            let root = checkout.get_or_insert_with(|| Checkout::new(LIMIT)).root();
            std::fs::write(root.join(name), &block.text).unwrap();
        }
        let source = excerpt_of(block).map(|path| std::fs::read_to_string(path).unwrap());
        let strange = source.is_some_and(|source| !source.contains(&block.text));
        tried.wrong.extend(strange.then(|| format!("{place}: the file has it no longer so")));
        let mark = saved_as(block).or(block.not_run()).or(excerpt_of(block));
        let unknown = block.mark.as_deref().filter(|_| mark.is_none());
        tried.wrong.extend(unknown.map(|mark| format!("{place}: nobody knows the mark {mark:?}")));
        if let Some(why) = block.not_run() {
            tried.marked += 1;
            tried.wrong.extend(why.is_empty().then(|| format!("{place}: the mark has no reason")));
        } else if block.language != "sh" {
            continue;
        } else if let Some(program) = missing(block) {
            tried.left += 1;
            println!("{place}: left out, there is no {program}");
        } else {
            let ended = checkout.get_or_insert_with(|| Checkout::new(LIMIT)).run(&block.text);
            let expected = blocks.get(i + 1).filter(|next| next.follows && next.language == "text");
            tried.wrong.extend(complaint(&ended, expected).map(|what| format!("{place}: {what}")));
            tried.ran += 1;
            printed.extend(expected.map(|expected| (expected.inside.clone(), ended.out)));
        }
    }
    // From the end, so that earlier offsets stay valid.
    for (inside, out) in printed.into_iter().rev() {
        page.replace_range(inside, &out);
    }
    page
}

/// The file that a reader saves a block as: the rest of a mark `saved as:`.
fn saved_as(block: &Block) -> Option<&str> {
    block.mark.as_deref()?.strip_prefix("saved as:").map(str::trim)
}

/// The file of which a block is an excerpt.
fn excerpt_of(block: &Block) -> Option<&str> {
    block.mark.as_deref()?.strip_prefix("from:").map(str::trim)
}

/// The first optional program of a block that is missing.
fn missing(block: &Block) -> Option<&'static str> {
    let commands = shell::commands(&block.text);
    let named = |program: &&&str| commands.iter().any(|command| command[0] == **program);
    OPTIONAL.iter().filter(named).find(|program| !is_there(program)).copied()
}

/// The error of a block, if there is one.
fn complaint(ended: &Ended, expected: Option<&Block>) -> Option<String> {
    let Some(status) = ended.status else { return Some("it goes on for too long".to_owned()) };
    if !status.success() {
        return Some(format!("it fails, {status}\n{}", ended.err));
    }
    // In a pipe only the last exit code counts, so output on standard error means failure. tshark warns about root.
    let complaints: Vec<&str> =
        ended.err.lines().filter(|line| !line.starts_with("Running as user")).collect();
    if !complaints.is_empty() {
        return Some(format!("it complains\n{}", complaints.join("\n")));
    }
    let expected = expected?;
    (ended.out != expected.text)
        .then(|| format!("it prints\n{}where the page says\n{}", ended.out, expected.text))
}

#[test]
fn blocks_that_fail_or_print_something_else_are_noticed() {
    let mut checkout = Checkout::new(LIMIT);
    let text = |text: &str| blocks(&format!("```sh\n```\n```text\n{text}\n```\n")).pop();
    let judged = |script: &str, expected: Option<Block>| {
        complaint(&checkout.run(script), expected.as_ref()).unwrap_or_default()
    };
    assert_eq!(judged("echo one | cat", text("one")), "");
    assert_eq!(judged("echo one", None), "");
    assert_eq!(judged("echo one", text("two")), "it prints\none\nwhere the page says\ntwo\n");
    assert!(judged("false; true", None).starts_with("it fails"));
    assert!(judged("echo $unset", None).starts_with("it fails"));
    assert!(judged("qdissect missing.pcap | cat", None).starts_with("it complains"));
    let version = format!("qdissect {}", env!("CARGO_PKG_VERSION"));
    assert_eq!(judged("test -f captures/demo.pcapng; qdissect -v", text(&version)), "");
    assert!(!Path::new("written").exists());
    assert_eq!(judged("echo one >written; cat written", text("one")), "");
    assert!(!Path::new("written").exists(), "blocks write into their checkout");
    checkout = Checkout::new(Duration::ZERO);
    let ended = checkout.run("sleep 100 | cat");
    assert_eq!(complaint(&ended, None).as_deref(), Some("it goes on for too long"));
}

/// Transcripts are split into words like a shell does, but run without a shell.
#[test]
fn no_transcript_contains_shell_syntax() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = pages();
    for entry in std::fs::read_dir(root.join("tests/cli")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        all.push((path, text));
    }
    let (mut wrong, mut seen) = (vec![], 0);
    for (path, text) in all {
        for block in blocks(&text) {
            let place = format!("{}:{}", path.display(), block.line);
            // Output that contains its command is also a transcript, and would not be run.
            let hidden = block.language != "console" && block.text.lines().any(|line| line.starts_with("$ "));
            wrong.extend(hidden.then(|| format!("{place}: a transcript in a block that is not `console`")));
            let other = ["bash", "shell", "zsh", "shell-session"].contains(&block.language.as_str());
            wrong.extend(
                other.then(|| format!("{place}: blocks of shell are called `sh`, or nothing runs them")),
            );
            for line in command_lines(&block) {
                seen += 1;
                let found = operator(&line);
                wrong.extend(found.map(|operator| format!("{place}: {operator} in: {line}")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 80, "the transcripts are found: {seen}");
}

/// The first shell operator in a text that must consist of words only.
fn operator(line: &str) -> Option<String> {
    shell::pieces(line).into_iter().find_map(|piece| match piece {
        shell::Piece::Word(_) => None,
        shell::Piece::Operator(operator) => Some(operator),
        shell::Piece::Open(quote) => Some(quote.to_string()),
    })
}

/// The command lines of a transcript; lines after `> ` continue the previous one.
fn command_lines(block: &Block) -> Vec<String> {
    let mut command_lines: Vec<String> = vec![];
    let mut continues = false;
    for line in block.text.lines().filter(|_| block.language == "console") {
        if let Some(line) = line.strip_prefix("$ ") {
            command_lines.push(line.to_owned());
            continues = true;
        } else if let (Some(line), Some(last), true) =
            (line.strip_prefix("> "), command_lines.last_mut(), continues)
        {
            last.push(' ');
            last.push_str(line);
        } else {
            continues = false;
        }
    }
    command_lines
}

#[test]
fn every_link_has_a_target() {
    let all: HashMap<PathBuf, HashSet<String>> =
        pages().into_iter().map(|(path, text)| (path, links::anchors(&text))).collect();
    let (mut wrong, mut seen, mut reached) = (vec![], 0, HashSet::new());
    for (path, text) in pages() {
        for (line, link) in links::links(&text) {
            seen += 1;
            reached.insert(target(&path, &link));
            let what = link_error(&all, &path, &link);
            wrong.extend(what.map(|what| format!("{}:{line}: {link}: {what}", path.display())));
        }
    }
    let lost = all.keys().filter(|path| path.starts_with("docs") && !reached.contains(*path));
    wrong.extend(lost.map(|path| format!("{}: no page leads there", path.display())));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 100, "the links are found: {seen}");
}

/// The error of a link on a page, if there is one. Links to other hosts are not checked.
fn link_error(all: &HashMap<PathBuf, HashSet<String>>, page: &Path, link: &str) -> Option<&'static str> {
    if link.starts_with("https://") {
        return None;
    }
    let (anchor, target) = (link.split_once('#').map_or("", |(_, anchor)| anchor), target(page, link));
    if !Path::new(env!("CARGO_MANIFEST_DIR")).join(&target).exists() {
        return Some("there is no such file");
    }
    let found = anchor.is_empty() || all.get(&target).is_some_and(|anchors| anchors.contains(anchor));
    (!found).then_some("there is no such heading")
}

/// The target file of a link, relative to the directory of the page, without `..`.
fn target(page: &Path, link: &str) -> PathBuf {
    let path = link.split('#').next().unwrap_or_default();
    if path.is_empty() {
        return page.to_owned();
    }
    let mut target = PathBuf::new();
    for part in page.parent().unwrap_or(page).join(path).components() {
        match part {
            Component::ParentDir => _ = target.pop(),
            part => target.push(part),
        }
    }
    target
}

#[cfg(test)]
mod tests;
