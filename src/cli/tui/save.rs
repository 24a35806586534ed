//! Saves listed packets to the capture that `-w` names.

use super::gather::{Shared, lock};
use super::pipe::Pipe;
use crate::capture::{Comments, Source, Writer};
use crate::cli::diagnostics::error_text;
use crate::cli::output::Target;
use crate::cli::save::APPLICATION;
use crate::cli::system::display_name;
use crate::report::count;
use hashbrown::HashSet;
use std::collections::BTreeSet;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The frames to save of a capture: its index, its path, and their numbers in it.
type Chosen = Vec<(usize, PathBuf, BTreeSet<u64>)>;

/// Saves the marked packets, or all that are listed where none is marked, with the frames of their fragments. Returns a sentence.
///
/// # Errors
/// A sentence.
pub fn save(
    shared: &Shared,
    pipes: &[(PathBuf, Arc<Pipe>)],
    marks: &HashSet<u64>,
    to: &Path,
) -> Result<String, String> {
    let chosen = chosen(shared, marks);
    let wanted: usize = chosen.iter().map(|(_, _, frames)| frames.len()).sum();
    let what = if marks.is_empty() { "listed" } else { "marked" };
    if wanted == 0 {
        return Err("There is nothing to save.".to_owned());
    }
    let failed =
        |e: io::Error| format!("The capture cannot be written to {}: {}.", display_name(to), error_text(&e));
    let mut target = Target::open(Some(to)).map_err(failed)?;
    let written = write(&mut target, shared, pipes, &chosen).map_err(failed)?;
    if written < wanted {
        return Err(format!(
            "Nothing was saved: a capture has changed, and {} of {wanted} frames are not there any more.",
            wanted - written
        ));
    }
    target.complete(true).map_err(failed)?;
    Ok(format!("Saved {} ({what}) to {}.", count(written as u64, "frame"), display_name(to)))
}

fn chosen(shared: &Shared, marks: &HashSet<u64>) -> Chosen {
    let index = lock(&shared.index);
    let mut chosen: Chosen = vec![];
    for (at, row) in index.rows().iter().enumerate() {
        if !marks.is_empty() && !marks.contains(&row.frame) {
            continue;
        }
        for frame in index.fragments(at).iter().copied().chain([row.frame]) {
            let place = index.place(frame);
            let known = chosen.iter_mut().rev().find(|(file, _, _)| *file == place.file);
            match (known, index.path(place.file)) {
                (Some((_, _, frames)), _) => drop(frames.insert(place.frame)),
                (None, Some(path)) => chosen.push((place.file, path, BTreeSet::from([place.frame]))),
                (None, None) => {}
            }
        }
    }
    chosen.sort_by_key(|(file, _, _)| *file);
    chosen
}

/// Writes the frames, and returns how many.
fn write(
    target: &mut Target,
    shared: &Shared,
    pipes: &[(PathBuf, Arc<Pipe>)],
    chosen: &Chosen,
) -> io::Result<usize> {
    let mut writer = Writer::new(BufWriter::with_capacity(256 << 10, target), APPLICATION)?;
    let mut written = 0;
    for (file, path, frames) in chosen {
        let facts = lock(&shared.index).facts(*file).cloned().unwrap_or_default();
        let pipe = pipes.iter().find(|(of, _)| of == path).map(|(_, pipe)| pipe);
        let source = match pipe {
            Some(pipe) => Source::from_reader(path, Box::new(pipe.so_far())),
            None => Source::open(path),
        };
        let Ok(mut source) = source else { continue };
        let comments = Comments::default();
        source.comment_into(&comments);
        let last = frames.last().copied().unwrap_or(0);
        while let Ok(Some(frame)) = source.next() {
            if frames.contains(&frame.number) {
                let texts = comments.of(frame.number);
                let texts: Vec<&str> =
                    texts.iter().flat_map(|texts| texts.iter().map(|text| &**text)).collect();
                writer.frame(*file, &facts, &frame, &texts)?;
                written += 1;
            }
            if frame.number >= last {
                break;
            }
        }
    }
    writer.finish()?;
    Ok(written)
}
