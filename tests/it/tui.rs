//! `qdissect tui` on a real terminal, that of tmux: it starts, walks, filters, saves and quits, and leaves the terminal as it was.
//! Without tmux the tests say so and pass.
#![cfg(all(unix, feature = "tui"))]

use crate::kit::frames;
use crate::kit::live::{BASE, Fake};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_qdissect");

/// Numbers for the names of terminals.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// A terminal of tmux with a shell in it.
struct Terminal {
    server: String,
}

impl Terminal {
    /// A terminal of that size; `None` if there is no tmux.
    fn new(width: u16, height: u16) -> Option<Terminal> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let terminal = Terminal { server: format!("qdissect-{}-{number}", std::process::id()) };
        let size = [width, height].map(|n| n.to_string());
        let started =
            terminal.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", &size[0], "-y", &size[1], "sh"]);
        if started.is_none() {
            println!("there is no tmux: nothing is tested");
        }
        started?;
        terminal.run("PS1='ready$ '; clear");
        terminal.waits_for("ready$");
        Some(terminal)
    }

    fn tmux(&self, args: &[&str]) -> Option<String> {
        let output = Command::new("tmux").args(["-L", &self.server]).args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Presses keys, by tmux's names.
    fn keys(&self, keys: &[&str]) {
        for key in keys {
            self.tmux(&["send-keys", key]).expect("tmux");
        }
    }

    /// Types a text.
    fn type_text(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]).expect("tmux");
    }

    /// Types a command, and Enter.
    fn run(&self, command: &str) {
        self.type_text(command);
        self.keys(&["Enter"]);
    }

    /// What is on the screen.
    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"]).expect("tmux")
    }

    /// Waits until the screen shows a text.
    #[track_caller]
    fn waits_for(&self, text: &str) -> String {
        let started = Instant::now();
        loop {
            let screen = self.screen();
            if screen.contains(text) {
                return screen;
            }
            assert!(started.elapsed() < Duration::from_secs(60), "no {text:?} in\n{screen}");
            sleep(Duration::from_millis(50));
        }
    }

    /// Waits until the screen shows a text no longer.
    #[track_caller]
    fn waits_for_the_end_of(&self, text: &str) {
        let started = Instant::now();
        while self.screen().contains(text) {
            assert!(started.elapsed() < Duration::from_secs(60), "{text:?} is still in\n{}", self.screen());
            sleep(Duration::from_millis(50));
        }
    }

    /// Starts the program.
    fn start(&self, args: &str) {
        self.run(&format!("clear; {} tui {args}; echo \"code=$?\"", PROGRAM));
    }

    /// Waits until the shell is back, whose terminal must be as it was: with echo, and without the program's screen.
    #[track_caller]
    fn is_clean(&self, code: u8) {
        let screen = self.waits_for(&format!("code={code}"));
        assert!(!screen.contains("1 Packets"), "{screen}");
        self.run("stty -a | tr ' ' '\\n' | grep -cE '^(icanon|echo)$'");
        self.waits_for("\n2\n");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]);
    }
}

fn demo() -> String {
    fs::canonicalize("captures/demo.pcapng").expect("the demo").display().to_string()
}

#[test]
fn a_session_walks_filters_saves_and_quits() {
    let Some(terminal) = Terminal::new(110, 32) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out.pcapng");
    terminal.start(&format!("-w {} {}", out.display(), demo()));
    terminal.waits_for("101 packets");
    terminal.keys(&["2"]);
    terminal.waits_for("Lab Factory");
    terminal.keys(&["1", "f"]);
    terminal.type_text("gqp");
    terminal.keys(&["Enter"]);
    terminal.waits_for("10 packets");
    terminal.keys(&["w"]);
    terminal.waits_for("Saved 10 frames (listed)");
    assert_eq!(frames::read(&out).len(), 10);
    terminal.keys(&["q"]);
    terminal.is_clean(0);
}

#[test]
fn a_signal_and_the_shells_stop_leave_the_terminal_as_it_was() {
    let Some(terminal) = Terminal::new(100, 30) else { return };
    terminal.start(&demo());
    terminal.waits_for("101 packets");
    terminal.keys(&["C-z"]);
    terminal.waits_for("Stopped");
    assert!(!terminal.screen().contains("1 Packets"));
    terminal.run("fg");
    terminal.waits_for("101 packets");
    let pane = terminal.tmux(&["display-message", "-p", "#{pane_pid}"]).expect("tmux");
    let killed = Command::new("pkill").args(["-TERM", "-P", pane.trim()]).status();
    assert!(killed.is_ok_and(|status| status.success()));
    terminal.waits_for("ready$");
    terminal.run("echo \"code=$?\"");
    terminal.run("stty -a | tr ' ' '\\n' | grep -cE '^(icanon|echo)$'");
    let screen = terminal.waits_for("\n2\n");
    assert!(!screen.contains("1 Packets"), "{screen}");
}

#[test]
fn a_pipe_is_read_and_read_again() {
    let Some(terminal) = Terminal::new(100, 30) else { return };
    terminal.run(&format!("clear; cat {} | {} tui -; echo \"code=$?\"", demo(), PROGRAM));
    terminal.waits_for("101 packets");
    terminal.keys(&["f"]);
    terminal.type_text("skycoop");
    terminal.keys(&["Enter"]);
    terminal.waits_for("status_request");
    terminal.keys(&["q"]);
    terminal.is_clean(0);
}

#[test]
fn a_file_that_grows_is_followed_and_home_stays() {
    let Some(terminal) = Terminal::new(100, 30) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (path, bytes) = (folder.path().join("a.pcapng"), fs::read(demo()).expect("the demo"));
    let half = bytes.len() / 2;
    fs::write(&path, &bytes[..half]).expect("a file");
    terminal.start(&format!("--follow {}", path.display()));
    terminal.waits_for("following");
    let before = terminal.screen();
    let mut file = File::options().append(true).open(&path).expect("the file");
    file.write_all(&bytes[half..]).expect("more");
    terminal.waits_for("101 packets");
    assert_ne!(terminal.screen(), before);
    terminal.keys(&["Home"]);
    terminal.waits_for_the_end_of("following");
    terminal.waits_for("challenge_request");
    terminal.keys(&["End"]);
    terminal.waits_for("following");
    terminal.keys(&["q"]);
    terminal.is_clean(0);
}

#[test]
fn a_file_that_is_cut_while_it_is_open_is_an_error_on_the_screen() {
    let Some(terminal) = Terminal::new(100, 30) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.pcapng");
    fs::copy(demo(), &path).expect("a copy");
    terminal.start(&path.display().to_string());
    terminal.waits_for("101 packets");
    File::options().write(true).open(&path).expect("the file").set_len(600).expect("cut");
    terminal.keys(&["End"]);
    terminal.waits_for("The packet cannot be shown");
    terminal.keys(&["q"]);
    terminal.is_clean(0);
}

#[test]
fn without_a_terminal_or_a_capture_it_says_so() {
    let output = Command::new(PROGRAM).args(["tui", &demo()]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("`tui` needs a terminal"), "{text}");
    let Some(terminal) = Terminal::new(100, 30) else { return };
    terminal.start(&Path::new("/nowhere.pcap").display().to_string());
    terminal.waits_for("code=2");
    assert!(terminal.screen().contains("/nowhere.pcap"));
}

#[test]
fn it_ends_when_its_terminal_is_gone() {
    let Some(terminal) = Terminal::new(100, 30) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.pcapng");
    fs::copy(demo(), &path).expect("a copy");
    let runs = || {
        let found = Command::new("pgrep").args(["-f", &path.display().to_string()]).status();
        found.is_ok_and(|status| status.success())
    };
    // No signal tells it.
    terminal.run(&format!("trap '' HUP; {PROGRAM} tui {}", path.display()));
    terminal.waits_for("101 packets");
    assert!(runs());
    terminal.tmux(&["kill-server"]);
    let started = Instant::now();
    while runs() {
        assert!(started.elapsed() < Duration::from_secs(20), "it is still there");
        sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_running_capture_is_shown_until_the_user_ends_it() {
    let Some(terminal) = Terminal::new(110, 30) else { return };
    let fake = Fake::new("tcpdump", &format!("cat {}; exec sleep 60", Fake::here(BASE)));
    let saved = fake.shown("saved");
    terminal.run(&format!(
        "clear; PATH={} {PROGRAM} live -i lo --tui -w {saved}; echo \"code=$?\"",
        fake.shown("bin")
    ));
    let screen = terminal.waits_for("following");
    assert!(screen.contains("1 Packets"), "{screen}");
    terminal.keys(&["2"]);
    terminal.waits_for("server ");
    terminal.keys(&["q"]);
    terminal.is_clean(0);
    assert_eq!(fs::read(&saved).expect("it is saved"), fs::read(BASE).expect("a capture"));
}

#[test]
fn the_busiest_servers_are_drawn_in_place() {
    let Some(terminal) = Terminal::new(110, 30) else { return };
    let capture = Fake::here("captures/a2s/a2s_all_clients.pcap");
    let fake = Fake::new("tcpdump", &format!("cat {capture}; exec sleep 60"));
    terminal.run(&format!("clear; PATH={} {PROGRAM} live -i lo --top; echo \"code=$?\"", fake.shown("bin")));
    let screen = terminal.waits_for("in the last second");
    let first = screen.lines().next().unwrap_or_default();
    assert!(first.contains(" UTC: ") && screen.contains("median"), "{screen}");
    sleep(Duration::from_millis(2_500));
    let later = terminal.screen();
    assert_eq!(later.matches("in the last second").count(), 1, "{later}");
    terminal.keys(&["C-c"]);
    terminal.waits_for("code=0");
}
