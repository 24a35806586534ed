#!/usr/bin/env bash
# Builds the page into web/dist: static files, ready to be hosted. Needs Rust with its target for browsers:
#
#   rustup target add wasm32-unknown-unknown
set -euo pipefail
cd "$(dirname "$0")"

limit=1572864
report=../src/page
target=${CARGO_TARGET_DIR:-$PWD/target}

# The hash of standard input in the form of a content security policy.
hash() {
    printf '%b' "$(sha256sum | cut -c1-64 | sed 's/../\\x&/g')" | base64
}
# The scripts of the report, in the order of the report.
script() {
    grep -o 'script/[a-z]*\.js' $report/mod.rs | sed "s|^|$report/|" | xargs cat
}

cargo build --release --locked --target wasm32-unknown-unknown
cargo run --locked --package bindgen "$target/wasm32-unknown-unknown/release/qdissect_web.wasm" "$target/page"

rm -rf dist
mkdir dist
cp www/app.js www/list.js www/packet.js www/filter.js dist
cat $report/base.css www/style.css >dist/style.css
# Assigned to variables, because a command that fails within the arguments of another does not end the script.
script=$(script | hash)
style=$(cat $report/base.css $report/style.css | hash)
sed -e "s|REPORT_SCRIPT|$script|" -e "s|REPORT_STYLE|$style|" www/index.html >dist/index.html
# The worker's program is a function of the page, which starts the worker from the text of that function. So the page's policy applies to
# the worker, too, and nothing has to be fetched.
{
    echo "'use strict';"
    echo 'function engineWorker() {'
    cat "$target/page/qdissect_web.js" www/worker.js
    echo '}'
    printf "const ENGINE = '"
    gzip -9nc "$target/page/qdissect_web_bg.wasm" | base64 -w0
    echo "';"
} >dist/engine.js

size=$(cat dist/* | gzip -9c | wc -c)
echo "web/dist: $(cat dist/* | wc -c) bytes, $size compressed"
((size <= limit)) || { echo "more than $limit bytes compressed"; exit 1; }
