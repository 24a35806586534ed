//! The Markdown files of the documentation, and their code blocks.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A fenced block of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Line of its fence, from 1.
    pub line: usize,
    /// The word after the fence; empty without one.
    pub language: String,
    pub text: String,
    /// The range of the page between its fences.
    pub inside: Range<usize>,
    /// The HTML comment directly above it.
    pub mark: Option<String>,
    /// Whether only blank lines are between it and the previous block.
    pub follows: bool,
}

impl Block {
    /// Why it is not run: the rest of a mark `not run:`.
    pub fn not_run(&self) -> Option<&str> {
        self.mark.as_deref()?.strip_prefix("not run:").map(str::trim)
    }
}

/// The blocks of a page, in order.
pub fn blocks(page: &str) -> Vec<Block> {
    let (mut blocks, mut open, mut mark, mut follows) = (vec![], None, None, false);
    for (event, at) in Parser::new_ext(page, dialect()).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                let language = info.split_whitespace().next().unwrap_or_default().to_owned();
                let (line, inside) = (line_of(page, at.start), inside(page, at));
                open =
                    Some(Block { line, language, text: String::new(), inside, mark: mark.take(), follows });
            }
            Event::Text(text) => {
                if let Some(block) = &mut open {
                    block.text.push_str(&text);
                }
            }
            Event::End(TagEnd::CodeBlock) => {
                blocks.extend(open.take());
                follows = true;
            }
            Event::Html(text) => mark = comment(&text),
            Event::End(TagEnd::HtmlBlock) | Event::Start(Tag::HtmlBlock) => {}
            // Any other content separates two blocks.
            Event::Start(_) | Event::Rule => (mark, follows) = (None, false),
            _ => {}
        }
    }
    blocks
}

/// The range between the first and the last line of a block.
fn inside(page: &str, at: Range<usize>) -> Range<usize> {
    let block = &page[at.clone()];
    let first = block.find('\n').map_or(block.len(), |end| end + 1);
    let last = block.trim_end().rfind('\n').map_or(first, |end| end + 1);
    at.start + first..at.start + last.max(first)
}

/// The extensions of GitHub's dialect that the pages use.
pub fn dialect() -> Options {
    Options::ENABLE_TABLES
}

/// Line of a byte, from 1.
pub fn line_of(page: &str, at: usize) -> usize {
    page.bytes().take(at).filter(|&b| b == b'\n').count() + 1
}

fn comment(html: &str) -> Option<String> {
    let inner = html.trim().strip_prefix("<!--")?.strip_suffix("-->")?;
    Some(inner.trim().to_owned())
}

/// The pages: of the root, of `docs` and its folders, of `captures`; paths from the root of the repository.
pub fn pages() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = vec![];
    for (folder, depth) in [("", 1), ("docs", 4), ("captures", 1)] {
        let entries = walkdir::WalkDir::new(root.join(folder)).max_depth(depth).sort_by_file_name();
        let files = entries.into_iter().map(|entry| entry.unwrap().into_path());
        paths.extend(files.filter(|path| path.extension().is_some_and(|e| e == "md")));
    }
    let relative = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        (path.strip_prefix(root).unwrap().to_owned(), text)
    };
    let pages: Vec<_> = paths.into_iter().map(relative).collect();
    assert!(pages.len() > 10, "there are pages: {pages:?}");
    pages
}
