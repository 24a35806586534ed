#!/bin/sh
# Keeps of the grown corpora what tests/it/robust.rs replays: of the fewest inputs up to 1 KiB that reach what all of them
# reach as many as 100 files and 18 KiB a target allow, of every size. To be run after tests/fuzz/run.sh.
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
    find "$few" -type f -printf '%s %p\n' | sort -n | awk '
            { size += $1; path[NR] = $2 }
            END {
                step = NR / 100
                if (size / 18432 > step) step = size / 18432
                if (step < 1) step = 1
                for (at = 1; at <= NR; at += step) print path[int(at)]
            }' |
        while read -r file; do cp "$file" "corpus/$name/"; done
    echo "$name: $(find "corpus/$name" -type f | wc -l) of $(find "$few" -type f | wc -l)"
done
