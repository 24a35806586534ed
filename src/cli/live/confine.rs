//! How `live` gives up rights when the first bytes have arrived and before any of them is parsed: it enters the sandbox, and
//! root becomes another user as well.
//!
//! ```text
//!  plan ── what will be needed ──> begin ── the capture program starts ──> enter ── from here on a parser
//! ```
//! The capture program is another process and keeps the rights that it needs. It runs as root if `live` does, so CAP_KILL is
//! kept to be able to end it; [`begin`](Confinement::begin) makes sure that signals reach no other process.

use crate::cli::common_args::Common;
use crate::cli::diagnostics::warning;
use crate::cli::output::{Target, folder};
use crate::cli::sandbox::{self, Allowed};
use crate::cli::system::name;
use rustix::fs::{Access, Gid, Uid, access};
use rustix::io::{Errno, Result as Outcome};
use rustix::process::geteuid;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_keep_capabilities, set_thread_groups,
    set_thread_res_gid, set_thread_res_uid,
};
use std::env::var;
use std::fs;
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

/// The user and group id that Linux shows for unknown owners; it owns nothing.
const NOBODY: u32 = 65_534;
/// The permission bit of directories in which only owners may rename and remove files.
const STICKY: u32 = 0o1000;

/// The user and group that root becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Heir {
    user: u32,
    group: u32,
}

impl Heir {
    /// The user who called sudo, by the ids that it left in the environment, or else nobody.
    fn new(user: Option<&str>, group: Option<&str>) -> Heir {
        let number = |text: Option<&str>| text?.parse().ok().filter(|&id| id != 0 && id != u32::MAX);
        match (number(user), number(group)) {
            (Some(user), Some(group)) => Heir { user, group },
            _ => Heir { user: NOBODY, group: NOBODY },
        }
    }

    /// Whether this user may not replace the file, because it belongs to another one.
    fn may_not_replace(self, path: &Path) -> bool {
        let (Ok(file), Ok(folder)) = (fs::symlink_metadata(path), fs::metadata(folder(path))) else {
            return false;
        };
        folder.mode() & STICKY != 0 && ![file.uid(), folder.uid()].contains(&self.user)
    }
}

/// The rights that are given up or kept.
#[derive(Debug)]
pub struct Confinement {
    heir: Option<Heir>,
    /// Files that will be written.
    outputs: Vec<PathBuf>,
    allowed: Allowed,
    quiet: bool,
}

impl Confinement {
    /// Determines what `live` will need, without giving up anything yet. A result in a temporary file changes its owner.
    ///
    /// # Errors
    /// A sentence, if a result could not be written in the end.
    pub fn plan(common: &Common, to: &Target) -> Result<Option<Confinement>, String> {
        if common.no_sandbox {
            return Ok(None);
        }
        let variable = |name| var(name).ok();
        let heir = || Heir::new(variable("SUDO_UID").as_deref(), variable("SUDO_GID").as_deref());
        let heir = geteuid().is_root().then(heir);
        if let (Target::File(file, path), Some(heir)) = (to, heir) {
            if heir.may_not_replace(path) {
                return Err(format!(
                    "The result would be written as user {}, who may not replace \"{}\" there: name another file, or \
                     give --no-sandbox.",
                    heir.user,
                    name(path)
                ));
            }
            // If this fails, becoming that user fails as well and is reported.
            let _ = fchown(file.as_file(), Some(heir.user), Some(heir.group));
        }
        let outputs: Vec<_> = common.output.iter().chain(&common.write).cloned().collect();
        let write = outputs.iter().flat_map(|path| sandbox::places(path)).collect();
        let allowed = Allowed { read: vec![], write, signals: true };
        Ok(Some(Confinement { heir, outputs, allowed, quiet: common.quiet }))
    }

    /// Called before the capture program starts: signals can reach only that program from now on. This is done only for root,
    /// whose programs need no more rights than they inherit. Other users' dumpcap has its rights from its file and would lose
    /// them.
    pub fn begin(&self) {
        if self.heir.is_some() {
            sandbox::keep_signals_inside();
        }
    }

    /// Gives up all rights that parsing, printing and saving do not need, and reports what cannot be given up.
    pub fn enter(self) {
        let tell = |what: &dyn std::fmt::Display| {
            if !self.quiet {
                warning(what);
            }
        };
        // The sandbox comes first, because root can look into every directory that is named.
        match sandbox::enter(&self.allowed) {
            Ok(true) => {}
            Ok(false) => tell(
                &"This kernel has no Landlock (Linux 5.13), so that nothing but its user's rights restricts what \
                  qdissect can do with files; --no-sandbox leaves this message out.",
            ),
            Err(e) => tell(&format_args!(
                "The use of files cannot be restricted: {e}; --no-sandbox leaves this message out."
            )),
        }
        if let Some(heir) = self.heir
            && let Err(e) = give_up_root(heir, &self.outputs)
        {
            tell(&format_args!(
                "It goes on as root, with few of root's rights, for it cannot become user {}: {e}. Start it as \
                 another user, or give --no-sandbox.",
                heir.user
            ));
        }
    }
}

/// Becomes another user without supplementary groups. Keeps the rights to end root's capture program, and to write the
/// `outputs` if the user cannot. This affects only the calling thread and the threads that it starts later.
fn give_up_root(heir: Heir, outputs: &[PathBuf]) -> Outcome<()> {
    let (user, group) = (Uid::from_raw(heir.user), Gid::from_raw(heir.group));
    set_keep_capabilities(true)?;
    let became = set_thread_groups(&[])
        .and_then(|()| set_thread_res_gid(group, group, group))
        .and_then(|()| set_thread_res_uid(user, user, user));
    let mut kept = CapabilitySet::KILL;
    if became.is_err() || !outputs.iter().all(|path| is_writable(path)) {
        kept |= CapabilitySet::DAC_OVERRIDE; // only where the sandbox allows writing
    }
    let kept = kept & capabilities(None)?.permitted;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: none })?;
    became
}

/// Whether the user can create and replace a file with ordinary rights.
fn is_writable(path: &Path) -> bool {
    let file = match access(path, Access::WRITE_OK) {
        Err(Errno::NOENT) => true,
        it => it.is_ok(),
    };
    file && access(folder(path), Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_becomes_who_called_sudo_and_else_nobody() {
        let nobody = Heir { user: NOBODY, group: NOBODY };
        assert_eq!(Heir::new(Some("1000"), Some("100")), Heir { user: 1000, group: 100 });
        for (user, group) in [
            (None, None),
            (Some("0"), Some("0")),
            (Some("1000"), None),
            (Some("-1"), Some("5")),
            (Some("4294967295"), Some("5")),
        ] {
            assert_eq!(Heir::new(user, group), nobody, "{user:?} {group:?}");
        }
    }

    #[test]
    fn a_file_of_others_in_a_shared_directory_cannot_be_replaced() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("result");
        fs::write(&file, "").unwrap();
        let own = fs::metadata(&file).unwrap().uid();
        let (owner, other) = (Heir { user: own, group: 0 }, Heir { user: own + 1, group: 0 });
        assert!(!other.may_not_replace(&file));
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        assert!(other.may_not_replace(&file) && !owner.may_not_replace(&file));
        assert!(!other.may_not_replace(&folder.path().join("new")));
    }
}
