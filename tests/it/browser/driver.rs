//! Headless Chromium, controlled with the DevTools protocol over two pipes.

use serde_json::{Value, json};
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use tempfile::{TempDir, tempdir};

/// The possible names of the program.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// A running browser with one page.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    calls: u64,
    session: Value,
    /// Events that the browser sent.
    events: Vec<Value>,
    _profile: TempDir,
}

impl Browser {
    /// Starts the browser. If none is installed, prints that and returns `None`.
    pub fn start() -> Option<Browser> {
        let paths: Vec<_> = env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
        let program = NAMES.iter().find(|name| paths.iter().any(|path| path.join(name).is_file()));
        let Some(program) = program else {
            println!("no Chromium is installed: pages are not tried in a browser");
            return None;
        };
        let profile = tempdir().expect("a folder");
        // It reads from descriptor 3 and writes to 4; its other output is ignored.
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", "sh", program]);
        command.args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
        ]);
        command.args(["--remote-debugging-pipe", "--hide-scrollbars", "--disable-background-networking"]);
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a shell");
        let (to, from) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let from = BufReader::new(from);
        let (calls, session, events) = (0, Value::Null, vec![]);
        let mut browser = Browser { child, to, from, calls, session, events, _profile: profile };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attached =
            browser.call("Target.attachToTarget", json!({ "targetId": target["targetId"], "flatten": true }));
        browser.session = attached["sessionId"].clone();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Calls a method and waits for the result.
    #[track_caller]
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.calls += 1;
        let mut message = json!({ "id": self.calls, "method": method, "params": params });
        if self.session.is_string() {
            message["sessionId"] = self.session.clone();
        }
        self.to.write_all(format!("{message}\0").as_bytes()).expect("it listens");
        loop {
            let message = self.receive();
            if message["id"] == self.calls {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    fn receive(&mut self) -> Value {
        let mut message = vec![];
        self.from.read_until(0, &mut message).expect("it speaks");
        serde_json::from_slice(message.strip_suffix(&[0]).expect("it is there")).expect("JSON")
    }

    fn await_event(&mut self, method: &str) {
        while !self.events.iter().any(|event| event["method"] == method) {
            let message = self.receive();
            self.events.push(message);
        }
    }

    /// Opens a file in a window of this width in pixels, with or without its script.
    pub fn open(&mut self, path: &Path, width: u32, script: bool) {
        self.resize(width, 900);
        self.call("Emulation.setScriptExecutionDisabled", json!({ "value": !script }));
        self.go(&format!("file://{}", path.display()));
    }

    /// Opens an address.
    pub fn go(&mut self, url: &str) {
        self.events.clear();
        self.call("Page.navigate", json!({ "url": url }));
        self.await_event("Page.loadEventFired");
    }

    /// Chooses a file in the input element that an expression returns.
    pub fn choose_file(&mut self, input: &str, path: &Path) {
        let input = self.call("Runtime.evaluate", json!({ "expression": input }));
        let path = path.canonicalize().expect("a file");
        let files = json!({ "files": [path], "objectId": input["result"]["objectId"] });
        self.call("DOM.setFileInputFiles", files);
    }

    /// Resizes the window.
    pub fn resize(&mut self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Sets the preferred colour scheme: `dark` or `light`.
    pub fn prefer(&mut self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// Evaluates a JavaScript expression.
    #[track_caller]
    pub fn value(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let result = self.call("Runtime.evaluate", asked);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// The errors on the console and the requests since the page was opened, without that of the page itself.
    pub fn complaints(&mut self) -> Vec<String> {
        self.complaints_but(&|request| request["type"] == "Document")
    }

    /// Like [`Browser::complaints`], without the requests for which `right` is true.
    pub fn complaints_but(&mut self, right: &dyn Fn(&Value) -> bool) -> Vec<String> {
        // Earlier events arrive before the answer to this call.
        self.value("0");
        let about = |event: &Value| {
            let params = &event["params"];
            match event["method"].as_str()? {
                "Runtime.exceptionThrown" => Some(params.to_string()),
                "Runtime.consoleAPICalled" => Some(params.to_string()),
                "Log.entryAdded" => Some(params.to_string()),
                "Network.requestWillBeSent" if !right(params) => Some(params.to_string()),
                _ => None,
            }
        };
        self.events.iter().filter_map(about).collect()
    }

    /// A screenshot of the page in Base64.
    pub fn picture(&mut self) -> String {
        let shot = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        shot["data"].as_str().expect("a picture").to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let _ = self.child.wait();
    }
}
