//! How `live` gives up rights after the first bytes have arrived and before any of them is parsed: it enters the sandbox, and if
//! it runs as root, it becomes another user as well.
//!
//! ```text
//!  plan ── what will be needed ──> begin ── the capture program starts ──> enter ── from here on a parser
//! ```
//! The capture program is another process and keeps the rights that it needs. It runs as root if `live` does, so CAP_KILL is
//! kept to be able to end it; [`begin`](Confinement::begin) ensures that signals reach no other process.

use crate::cli::common_args::Common;
use crate::cli::diagnostics::warning;
use crate::cli::output::{Target, folder};
use crate::cli::sandbox::{self, Allowed};
use crate::cli::system::display_name;
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

/// The user and group that `live` switches to if it runs as root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Account {
    uid: u32,
    gid: u32,
}

impl Account {
    /// The user who called sudo, by the ids that it left in the environment, or else nobody.
    fn new(uid: Option<&str>, gid: Option<&str>) -> Account {
        let number = |text: Option<&str>| text?.parse().ok().filter(|&id| id != 0 && id != u32::MAX);
        match (number(uid), number(gid)) {
            (Some(uid), Some(gid)) => Account { uid, gid },
            _ => Account { uid: NOBODY, gid: NOBODY },
        }
    }

    /// Whether this user may not replace the file, because it belongs to another one.
    fn may_not_replace(self, path: &Path) -> bool {
        let (Ok(file), Ok(folder)) = (fs::symlink_metadata(path), fs::metadata(folder(path))) else {
            return false;
        };
        folder.mode() & STICKY != 0 && ![file.uid(), folder.uid()].contains(&self.uid)
    }
}

/// The rights that are given up or kept.
#[derive(Debug)]
pub struct Confinement {
    account: Option<Account>,
    /// Files that will be written.
    outputs: Vec<PathBuf>,
    allowed: Allowed,
    quiet: bool,
}

impl Confinement {
    /// Determines the rights that `live` will need, without giving up any yet. If the user will change, the temporary file of the
    /// result gets the new owner.
    ///
    /// # Errors
    /// A sentence, if a result could not be written in the end.
    pub fn plan(common: &Common, to: &Target) -> Result<Option<Confinement>, String> {
        if common.no_sandbox {
            return Ok(None);
        }
        let variable = |name| var(name).ok();
        let account = || Account::new(variable("SUDO_UID").as_deref(), variable("SUDO_GID").as_deref());
        let account = geteuid().is_root().then(account);
        if let (Some((file, path)), Some(account)) = (to.file(), account) {
            if account.may_not_replace(path) {
                return Err(format!(
                    "The result would be written as user {}, who may not replace \"{}\" there: name another file, or \
                     give --no-sandbox.",
                    account.uid,
                    display_name(path)
                ));
            }
            // If this fails, becoming that user fails as well and is reported.
            let _ = fchown(file.as_file(), Some(account.uid), Some(account.gid));
        }
        let outputs: Vec<_> = common.output.iter().chain(&common.write).cloned().collect();
        let write = outputs.iter().flat_map(|path| sandbox::writable_paths(path)).collect();
        let allowed = Allowed { write, signals: true, ..Allowed::default() };
        Ok(Some(Confinement { account, outputs, allowed, quiet: common.quiet }))
    }

    /// Called before the capture program starts: signals can reach only that program from now on. This is done only for root,
    /// whose programs need no more rights than they inherit. Other users' dumpcap has its rights from its file and would lose
    /// them.
    pub fn begin(&self) {
        if self.account.is_some() {
            sandbox::keep_signals_inside();
        }
    }

    /// Gives up all rights that parsing, printing and saving do not need, and reports what cannot be given up.
    pub fn enter(self) {
        let warn = |what: &dyn std::fmt::Display| {
            if !self.quiet {
                warning(what);
            }
        };
        // The sandbox comes first, because root can open every directory that it needs.
        match sandbox::enter(&self.allowed) {
            Ok(true) => {}
            Ok(false) => warn(
                &"This kernel has no Landlock (Linux 5.13), so that nothing but its user's rights restricts what \
                  qdissect can do with files; --no-sandbox leaves this message out.",
            ),
            Err(e) => warn(&format_args!(
                "The use of files cannot be restricted: {e}; --no-sandbox leaves this message out."
            )),
        }
        if let Some(account) = self.account
            && let Err(e) = give_up_root(account, &self.outputs)
        {
            warn(&format_args!(
                "It goes on as root, with few of root's rights, for it cannot become user {}: {e}. Start it as \
                 another user, or give --no-sandbox.",
                account.uid
            ));
        }
    }
}

/// Becomes another user without supplementary groups. Keeps the rights to end root's capture program, and to write the
/// `outputs` if the user cannot. This affects only the calling thread and the threads that it starts later.
fn give_up_root(account: Account, outputs: &[PathBuf]) -> Outcome<()> {
    let (uid, gid) = (Uid::from_raw(account.uid), Gid::from_raw(account.gid));
    set_keep_capabilities(true)?;
    let switched = set_thread_groups(&[])
        .and_then(|()| set_thread_res_gid(gid, gid, gid))
        .and_then(|()| set_thread_res_uid(uid, uid, uid));
    let mut kept = CapabilitySet::KILL;
    if switched.is_err() || !outputs.iter().all(|path| is_writable(path)) {
        kept |= CapabilitySet::DAC_OVERRIDE; // only where the sandbox allows writing
    }
    let kept = kept & capabilities(None)?.permitted;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: none })?;
    switched
}

/// Whether the user can create and replace a file with ordinary rights.
fn is_writable(path: &Path) -> bool {
    let file = match access(path, Access::WRITE_OK) {
        Err(Errno::NOENT) => true,
        other => other.is_ok(),
    };
    file && access(folder(path), Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_becomes_the_caller_of_sudo_or_nobody() {
        let nobody = Account { uid: NOBODY, gid: NOBODY };
        assert_eq!(Account::new(Some("1000"), Some("100")), Account { uid: 1000, gid: 100 });
        for (uid, gid) in [
            (None, None),
            (Some("0"), Some("0")),
            (Some("1000"), None),
            (Some("-1"), Some("5")),
            (Some("4294967295"), Some("5")),
        ] {
            assert_eq!(Account::new(uid, gid), nobody, "{uid:?} {gid:?}");
        }
    }

    #[test]
    fn another_users_file_in_a_sticky_directory_cannot_be_replaced() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("result");
        fs::write(&file, "").unwrap();
        let owner_uid = fs::metadata(&file).unwrap().uid();
        let (owner, other) = (Account { uid: owner_uid, gid: 0 }, Account { uid: owner_uid + 1, gid: 0 });
        assert!(!other.may_not_replace(&file));
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        assert!(other.may_not_replace(&file) && !owner.may_not_replace(&file));
        assert!(!other.may_not_replace(&folder.path().join("new")));
    }
}
