# What the scripts of this folder share; they read it with `source`, in the root of the repository.

export CARGO_TERM_COLOR=never

# A heading, with the seconds since the script began.
step() {
    printf '\n== %s (%d s)\n' "$*" "$SECONDS"
}

fail() {
    printf 'FAILED: %s\n' "$*"
    exit 1
}

# Installs packages, if that is possible.
install() {
    [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null || return 1
    export DEBIAN_FRONTEND=noninteractive
    apt-get install -y "$@" >/dev/null 2>&1 || { apt-get update && apt-get install -y "$@"; } >/dev/null 2>&1
}

# The value of a key of Cargo.toml: version, description, and the one place that names the home of the project.
manifest() {
    sed -n "s|^$1 = \"\(.*\)\"|\1|p" Cargo.toml | head -1
}
