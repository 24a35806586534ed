//! Restricts the process before it reads untrusted bytes. It uses Landlock, by which a process on Linux gives up rights
//! irrevocably. No privileges are needed for that.
//!
//! ```text
//!  reading files   read the inputs      write where results go     no program, no TCP, no signals
//!  live            read nothing         write where -w goes        no program, no TCP
//! ```
//! Files that are open stay open: standard output, the pipe of the capture program. File names can still be looked up.

use super::common_args::Common;
use super::inputs::Inputs;
use super::output::{folder, is_device, resolve_links};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, make_bitflags, path_beneath_rules,
};
use std::path::{Path, PathBuf};

/// The standard library reads these files to learn how many processors the process may use when it starts a thread.
const PROCESSORS: [&str; 3] = ["/proc/self/cgroup", "/proc/self/mountinfo", "/sys/fs/cgroup"];
/// The restrictions asked for, as of Linux 6.12. An older kernel enforces those that it knows.
const WANTED: ABI = ABI::V6;

/// The terminal of the process.
const TERMINAL: &str = "/dev/tty";

/// The rights that are kept. Paths that do not exist allow nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Files that may be read, and directories with everything in them.
    pub read: Vec<PathBuf>,
    /// Directories in which files may be created, written, renamed and removed, and pipes and devices that may be written.
    pub write: Vec<PathBuf>,
    /// Whether signals may be sent to processes outside of the sandbox.
    pub signals: bool,
    /// Whether the terminal may be opened and set up.
    pub terminal: bool,
}

/// Restricts the calling thread and all threads that it starts later. Returns whether the kernel restricts the use of files at
/// all. Another call can only restrict further.
///
/// # Errors
/// When the kernel refuses a restriction that it claims to support.
pub fn enter(allowed: &Allowed) -> Result<bool, RulesetError> {
    let mut scope = BitFlags::from(Scope::AbstractUnixSocket);
    if !allowed.signals {
        scope |= Scope::Signal;
    }
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(WANTED))?
        .handle_access(AccessNet::from_all(WANTED))?
        .scope(scope)?
        .create()?;
    let read = make_bitflags!(AccessFs::{ReadFile | ReadDir});
    let write = make_bitflags!(AccessFs::{WriteFile | Truncate | MakeReg | RemoveFile});
    for (paths, access) in [(&allowed.read, read), (&allowed.write, write)] {
        for rule in path_beneath_rules(paths, access).flatten() {
            // Files outside of the file system, such as pipes of the shell, cannot have a rule and stay allowed.
            let _ = (&mut rules).add_rule(rule);
        }
    }
    if allowed.terminal {
        let access = make_bitflags!(AccessFs::{ReadFile | WriteFile | IoctlDev});
        for rule in path_beneath_rules([TERMINAL], access).flatten() {
            let _ = (&mut rules).add_rule(rule);
        }
    }
    rules.restrict_self().map(|status| status.ruleset != RulesetStatus::NotEnforced)
}

/// From now on, signals reach only processes that this one starts; best effort.
pub fn keep_signals_inside() {
    let domain = Ruleset::default().scope(Scope::Signal).and_then(Ruleset::create);
    let _ = domain.and_then(|domain| domain.restrict_self());
}

/// Restricts a command that reads files to its inputs, its outputs and the `extra` rights. If the kernel does not support that,
/// nothing is printed, because the message would appear in every job of a CI system.
pub fn read_files(common: &Common, inputs: &Inputs, extra: Allowed) {
    if !common.no_sandbox {
        let _ = enter(&allowed_for(common, inputs, extra));
    }
}

fn allowed_for(common: &Common, inputs: &Inputs, extra: Allowed) -> Allowed {
    let mut read: Vec<PathBuf> = inputs.list.iter().map(|input| input.path.clone()).collect();
    if common.follow {
        // Files that appear later, and files that replace others.
        let named = common.files.iter().chain(&common.read);
        read.extend(named.map(|path| if path.is_dir() { path.clone() } else { folder(path).to_owned() }));
    }
    let mut write: Vec<PathBuf> = common.output.iter().flat_map(|path| writable_paths(path)).collect();
    if let Some(path) = &common.write {
        // Copies of pipes are made beside the result or in the directory for temporary files.
        match path.as_os_str() == "-" || is_device(path) {
            true => write.extend([path.clone(), std::env::temp_dir()]),
            false => write.extend(writable_paths(path)),
        }
    }
    write.extend(extra.write.iter().cloned());
    read.extend(extra.read.iter().cloned());
    // Temporary files are opened for reading as well.
    read.extend(write.iter().cloned());
    read.extend(PROCESSORS.map(PathBuf::from));
    Allowed { read, write, ..extra }
}

/// The paths that must be writable for a file to be written: its directory and that of the file that a link leads to, or the
/// pipe or device itself.
pub fn writable_paths(path: &Path) -> Vec<PathBuf> {
    if is_device(path) {
        return vec![path.to_owned()];
    }
    let real = resolve_links(path);
    let real = (real != path).then(|| folder(&real).to_owned());
    real.into_iter().chain([folder(path).to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::net::TcpListener;
    use std::process::Command;

    /// Environment variable of the restricted process: the directory that it may use.
    const INSIDE: &str = "QDISSECT_TEST_SANDBOX";

    /// Runs a test of this file again in a process of its own, because rights cannot be regained.
    fn in_a_process(name: &str, folder: &Path) {
        let test = format!("cli::sandbox::tests::{name}");
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", &test, "--nocapture"]).env(INSIDE, folder);
        let output = command.output().unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
        assert!(stdout.contains("1 passed"), "{stdout}");
    }

    fn assert_denied<T: std::fmt::Debug>(result: std::io::Result<T>) {
        assert_eq!(result.unwrap_err().kind(), std::io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn only_allowed_paths_can_be_read_or_written_and_no_program_run() {
        let Some(folder) = std::env::var_os(INSIDE).map(PathBuf::from) else {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("out")).unwrap();
            fs::write(folder.path().join("in"), "in").unwrap();
            return in_a_process(
                "only_allowed_paths_can_be_read_or_written_and_no_program_run",
                folder.path(),
            );
        };
        let (input, out) = (folder.join("in"), folder.join("out"));
        let allowed = Allowed { read: vec![input.clone()], write: vec![out.clone()], ..Allowed::default() };
        if !enter(&allowed).unwrap() {
            println!("this kernel has no Landlock: nothing is tested");
            return;
        }
        assert_eq!(fs::read(&input).unwrap(), b"in");
        fs::write(out.join("a"), "a").unwrap();
        fs::rename(out.join("a"), out.join("b")).unwrap();
        assert_denied(fs::read(out.join("b")));
        fs::remove_file(out.join("b")).unwrap();
        assert_denied(fs::write(&input, "changed"));
        assert_denied(fs::write(folder.join("new"), "new"));
        assert_denied(fs::remove_file(&input));
        assert_denied(fs::create_dir(out.join("folder")));
        assert_denied(fs::read("/etc/passwd"));
        assert_denied(fs::OpenOptions::new().append(true).open("/etc/passwd"));
        assert_denied(fs::read_dir("/"));
        assert_denied(Command::new("/bin/sh").arg("-c").arg("true").status());
        assert!(rustix::thread::no_new_privs().unwrap());
        // Restrictions of TCP need Linux 6.7.
        match TcpListener::bind("127.0.0.1:0") {
            Ok(_) => println!("this kernel does not restrict TCP"),
            refused => assert_denied(refused),
        }
    }

    #[test]
    fn a_second_sandbox_cannot_give_rights_back() {
        let Some(folder) = std::env::var_os(INSIDE).map(PathBuf::from) else {
            let folder = tempfile::tempdir().unwrap();
            return in_a_process("a_second_sandbox_cannot_give_rights_back", folder.path());
        };
        if !enter(&Allowed::default()).unwrap() {
            println!("this kernel has no Landlock: nothing is tested");
            return;
        }
        enter(&Allowed {
            read: vec![folder.clone()],
            write: vec![folder.clone()],
            signals: true,
            terminal: false,
        })
        .unwrap();
        assert_denied(fs::read_dir(&folder));
        assert_denied(fs::write(folder.join("new"), "new"));
    }

    #[test]
    fn a_result_needs_its_directory_and_a_device_needs_only_itself() {
        let folder = tempfile::tempdir().unwrap();
        let folder = fs::canonicalize(folder.path()).unwrap();
        let (own, other) = (folder.join("own"), folder.join("other"));
        [&own, &other].into_iter().for_each(|it| fs::create_dir(it).unwrap());
        fs::write(other.join("real"), "").unwrap();
        std::os::unix::fs::symlink(other.join("real"), own.join("link")).unwrap();
        assert_eq!(writable_paths(&own.join("new")), [own.as_path()]);
        assert_eq!(writable_paths(&own.join("link")), [other.as_path(), own.as_path()]);
        fs::remove_file(other.join("real")).unwrap();
        assert_eq!(writable_paths(&own.join("link")), [other, own], "it will be written there");
        assert_eq!(writable_paths(Path::new("new")), [PathBuf::from(".")]);
        assert_eq!(writable_paths(Path::new("/dev/null")), [PathBuf::from("/dev/null")]);
    }
}
