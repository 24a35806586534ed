//! The rights that the process gives up before it parses, as the kernel reports them. Unit tests check what that forbids.
#![cfg(target_os = "linux")]

use crate::kit::live::{BASE, Fake, Running, end, field, run_to_end};
use std::fs;
use std::path::Path;

/// CAP_KILL and CAP_DAC_OVERRIDE, as `/proc` shows them.
const KILL: u64 = 1 << 5;
const DAC_OVERRIDE: u64 = 1 << 1;

fn own(name: &str) -> String {
    field(&fs::read_to_string("/proc/self/status").unwrap(), name)
}

fn is_root() -> bool {
    own("Uid").starts_with("0 ")
}

/// A running capture after the first packets have been parsed and shown.
fn running(fake: &Fake, args: &[&str]) -> Running {
    let all = [&["-i", "lo", "-T", "ndjson"], args].concat();
    let mut command = fake.live(all);
    command.env_remove("SUDO_UID").env_remove("SUDO_GID");
    let mut live = Running::new(command);
    live.await_line("\"outcome\"");
    live
}

fn program() -> Fake {
    Fake::new("tcpdump", &format!("cat {}; exec sleep 60", Fake::here(BASE)))
}

#[test]
fn every_thread_of_live_has_given_up_its_rights() {
    let fake = program();
    // The directory belongs to the user who runs the test.
    for (args, kept) in [(vec![], KILL), (vec!["-w".to_owned(), fake.shown("saved")], KILL | DAC_OVERRIDE)] {
        let live = running(&fake, &args.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(!live.rights("Threads").is_empty());
        assert!(live.rights("NoNewPrivs").iter().all(|it| it == "1"));
        if live.stderr_text().contains("cannot become user") {
            println!("root cannot become another user here: that is not tested");
        } else if is_root() {
            assert!(
                live.rights("Uid").iter().all(|it| it == "65534 65534 65534 65534"),
                "{:?}",
                live.rights("Uid")
            );
            assert!(live.rights("Gid").iter().all(|it| it == "65534 65534 65534 65534"));
            assert!(live.rights("Groups").iter().all(String::is_empty));
            for set in ["CapPrm", "CapEff"] {
                for held in live.rights(set) {
                    let held = u64::from_str_radix(&held, 16).unwrap();
                    assert_eq!(held & !kept, 0, "{set} has {held:x}");
                }
            }
        }
        live.signal("INT");
        assert_eq!(live.end().code, Some(0));
    }
    assert_eq!(fs::read(fake.path("saved")).unwrap(), fs::read(BASE).unwrap());
}

#[test]
fn without_the_sandbox_rights_are_those_of_the_user() {
    let fake = program();
    let live = running(&fake, &["--no-sandbox"]);
    for name in ["Uid", "Gid", "Groups", "CapEff", "NoNewPrivs"] {
        assert!(live.rights(name).iter().all(|it| *it == own(name)), "{name}");
    }
    live.signal("INT");
    assert_eq!(live.end().code, Some(0));
}

#[test]
fn subcommands_that_read_files_give_up_their_rights() {
    for (more, wanted) in [(&["-l"][..], "1".to_owned()), (&["-l", "--no-sandbox"], own("NoNewPrivs"))] {
        let mut dump = end(&[&["dump", "-"], more].concat());
        dump.feed(&fs::read(BASE).unwrap());
        dump.await_line("challenge_request");
        assert_eq!(dump.rights("NoNewPrivs"), [wanted]);
        dump.signal("INT");
        assert_eq!(dump.end().code, Some(130));
    }
}

#[test]
fn live_refuses_to_replace_another_users_file_in_a_sticky_folder() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let fake = program();
    if !is_root() {
        println!("only root becomes another user: nothing is tested");
        return;
    }
    fs::create_dir(fake.path("shared")).unwrap();
    fs::write(fake.path("shared/result"), "older").unwrap();
    fs::set_permissions(fake.path("shared"), fs::Permissions::from_mode(0o1777)).unwrap();
    if let Err(e) = chown(fake.path("shared/result"), Some(1), Some(1)) {
        println!("files cannot be given away here ({e}): nothing is tested");
        return;
    }
    let live = run_to_end(&mut fake.live(["-i", "lo", "--output", &fake.shown("shared/result")]));
    assert_eq!(live.code, Some(2));
    assert!(live.err.contains("may not replace") && live.err.contains("--no-sandbox"), "{}", live.err);
    assert_eq!(fs::read_dir(fake.path("shared")).unwrap().count(), 1);
    assert_eq!(fs::read(Path::new(&fake.shown("shared/result"))).unwrap(), b"older");
}
