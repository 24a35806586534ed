#!/bin/sh
# Keeps of the grown corpora what tests/robust.rs replays: the fewest small inputs that reach what all of them reach,
# and of these the smallest, up to 18 KiB and 150 files a target. To be run after tests/fuzz/run.sh.
set -eu
cd "$(dirname "$0")"
target=${CARGO_TARGET_DIR:-$PWD/target}
work=${FUZZ_WORK:-$target/fuzz-work}
bin="$target/$(rustc -vV | sed -n 's/^host: //p')/release"
[ ! -d /dev/shm ] || export TMPDIR=/dev/shm
for path in fuzz_targets/*.rs; do
    name=$(basename "$path" .rs)
    few=$work/few/$name
    rm -rf "$few"
    mkdir -p "$few" "corpus/$name" "$work/corpus/$name"
    "$bin/$name" -merge=1 -max_len=1024 -timeout=5 -rss_limit_mb=512 -close_fd_mask=2 \
        "$few" "corpus/$name" "$work/corpus/$name" "$work/seeds/$name" 2>"$work/logs/$name.merge"
    rm -rf "corpus/$name"
    mkdir "corpus/$name"
    find "$few" -type f -printf '%s %p\n' | sort -n |
        awk '{ all += $1; if (all <= 18432 && NR <= 150) print $2 }' |
        while read -r file; do cp "$file" "corpus/$name/"; done
    echo "$name: $(find "corpus/$name" -type f | wc -l) of $(find "$few" -type f | wc -l)"
done
