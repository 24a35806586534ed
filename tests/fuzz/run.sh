#!/bin/sh
# Fuzzes every target and writes what came of it into docs/robustness.md: tests/fuzz/run.sh [SECONDS [TARGET...]]
#
# Without SECONDS, 15 minutes for each target that reads what an attacker sends as it comes, 5 for each other one.
# Two run at a time. It needs a nightly toolchain and `cargo install cargo-fuzz --locked`.
# FUZZ_WORK is the folder of grown corpora, findings and logs; they are used again by the next run.
set -eu
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-$PWD/tests/fuzz/target}
work=${FUZZ_WORK:-$target/fuzz-work}
first="file pcapng walk classifier lean work sqp satisfactory skycoop gqp quake3 raknet gamespy3 a2s gamespy1 gamespy2 ase unreal2 samp answering diagnosis titanfall mumble teamspeak3 teeworlds armagetron mindustry doom3 openttd masters"
others="pairing filter pasted config unpack writers"
seconds=${1:-}
[ $# -eq 0 ] || shift
targets=${*:-$first $others}

mkdir -p "$work/logs"
# No sanitizer: there is no unsafe code of ours for one to watch, and inputs come faster.
cargo +nightly fuzz build --fuzz-dir tests/fuzz --target-dir "$target" --sanitizer none --debug-assertions
UPDATE_DOCS=1 FUZZ_SEEDS=$work/seeds CARGO_TARGET_DIR=$target cargo test --quiet --test it -- seeds dictionary

# One target for so many seconds.
cat >"$work/one.sh" <<'ONE'
#!/bin/sh
name=$1 seconds=$2 binary=$3 work=$4 kept=$5
mkdir -p "$work/corpus/$name" "$work/found/$name" "$kept/corpus/$name" "$kept/regressions/$name"
quiet=0
[ "$name" != config ] || quiet=2 # what the command line says would fill the log
[ ! -d /dev/shm ] || export TMPDIR=/dev/shm
"$binary" "$work/corpus/$name" "$work/seeds/$name" "$kept/corpus/$name" "$kept/regressions/$name" \
    -max_total_time="$seconds" -rss_limit_mb=512 -timeout=5 -max_len=4096 -dict="$kept/qdissect.dict" \
    -close_fd_mask=$quiet -artifact_prefix="$work/found/$name/" -print_final_stats=1 >"$work/logs/$name" 2>&1
rmdir "$kept/corpus/$name" "$kept/regressions/$name" 2>/dev/null # where they are empty
exit 0
ONE
bin="$target/$(rustc -vV | sed -n 's/^host: //p')/release"
for name in $targets; do
    case " $first " in
    *" $name "*) usual=900 ;;
    *) usual=300 ;;
    esac
    echo "$name ${seconds:-$usual} $bin/$name $work $PWD/tests/fuzz"
done | xargs -P 2 -L 1 sh "$work/one.sh"

table() {
    echo "Last run: $(date -u +%Y-%m-%d), $(uname -m), $(rustc +nightly -V)."
    echo
    echo "| target | seconds | executions | per second | cov | ft | corpus | findings |"
    echo "|---|---:|---:|---:|---:|---:|---:|---:|"
    for name in $first $others; do
        log=$work/logs/$name
        [ -f "$log" ] || continue
        found=$(find "$work/found/$name" -type f | wc -l)
        awk -v name="$name" -v found="$found" '
            / cov: / {
                for (i = 1; i < NF; i++) {
                    if ($i == "cov:") cov = $(i + 1)
                    if ($i == "ft:") ft = $(i + 1)
                    if ($i == "corp:") { split($(i + 1), corp, "/") }
                }
            }
            /^Done [0-9]+ runs in/ { seconds = $5 }
            /^stat::number_of_executed_units/ { runs = $2 }
            /^stat::average_exec_per_sec/ { speed = $2 }
            END {
                if (seconds == "") seconds = "stopped"
                printf "| `%s` | %s | %s | %s | %s | %s | %s | %s |\n",
                    name, seconds, runs, speed, cov, ft, corp[1], found
            }' "$log"
    done
}
table >"$work/table"
awk -v table="$work/table" '
    /<!-- runs: end -->/ { inside = 0 }
    !inside { print }
    /<!-- runs: begin -->/ { inside = 1; while ((getline line < table) > 0) print line }
' docs/robustness.md >"$work/page"
cp "$work/page" docs/robustness.md
cat "$work/table"
find "$work/found" -type f | sed 's/^/found: /'
