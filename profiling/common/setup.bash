# shellcheck shell=bash
# The parts that all scripts share: options, tools, the programs to measure, and the folder of the
# answers. A script defines a function `usage`, and lists in `numbers` its options that take a
# number. Each of these has a variable.
set -euo pipefail

top=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd -P)
question=${0##*/}
results=$top/profiling/results file='' quick='' names='' threads=2 commands=()

# The lines of `usage` that all scripts have.
shared_options() {
    cat <<'HELP'
  --names A,B    names of the programs in the answer
  --results DIR  folder of the answer and its pictures [default: profiling/results]
  --quick        one round of a small input, as a test of the script
HELP
}

fail() {
    echo "profiling/$question: $*" >&2
    exit 2
}
misused() {
    usage >&2
    exit 2
}

parse() {
    while [ $# -gt 0 ]; do
        case $1 in
        -h | --help) usage; exit 0 ;;
        --quick) quick=yes; shift ;;
        --names | --results) [ -n "${2:-}" ] || misused; declare -g "${1#--}=$2"; shift 2 ;;
        --) shift; given "$@"; break ;;
        --*)
            [[ " ${numbers:-} " == *" ${1#--} "* && ${2:-} =~ ^(0|[1-9][0-9]{0,5})$ ]] || misused
            declare -g "${1#--}=$2"
            shift 2
            ;;
        -*) misused ;;
        *) [ -f "$1" ] || fail "no file $1"; file=$1; shift ;;
        esac
    done
    [ -z "$(tr , '\n' <<<"$names" | sort | uniq -d)" ] || fail "--names: two are the same"
    local number
    for number in rounds threads ms rate width rows slice; do
        [ "${!number:-1}" != 0 ] || misused
    done
}

# Programs with their arguments, separated by --.
given() {
    local word program=''
    for word in "$@" --; do
        if [ "$word" = -- ]; then
            [ -n "$program" ] || misused
            program=''
        elif [ -z "$program" ]; then
            command -v "$word" >/dev/null || fail "no program $word"
            program=$word
        fi
    done
    commands=(-- "$@")
}

# The tools that a script needs. If a tool's package has another name, the name stands behind the tool:
# perf=linux-perf.
needs() {
    local tool
    for tool in "$@"; do
        command -v "${tool%=*}" >/dev/null || fail "no ${tool%=*}: install it (Debian: apt-get install ${tool#*=})"
    done
    [ -e /proc/self/stat ] || fail "no /proc/self/stat: this needs Linux"
}

# The folder of the examples. $PROFILING_EXAMPLES names a folder with built examples. Otherwise
# cargo builds them in a folder of their own, since the names of folders are kept out of these
# programs.
examples() {
    local example wanted=()
    if [ -n "${PROFILING_EXAMPLES:-}" ]; then
        (cd "$PROFILING_EXAMPLES" && pwd)
        return
    fi
    for example in "$@"; do wanted+=(--example "$example"); done
    cd "$top" && export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$top/target}/profiling &&
        CARGO_ENCODED_RUSTFLAGS=$(without_paths "$(rustc --print sysroot)" "${CARGO_HOME:-${HOME:-/}/.cargo}" "$top") \
            cargo build --quiet --release "${wanted[@]}" &&
        cd "$CARGO_TARGET_DIR/release/examples" >/dev/null && pwd
}

# bench NAME DIR: builds a bench and copies it to DIR.
bench() {
    local built
    built=$(cd "$top" && CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$top/target}/profiling \
        CARGO_ENCODED_RUSTFLAGS=$(without_paths "$(rustc --print sysroot)" "${CARGO_HOME:-${HOME:-/}/.cargo}" "$top") \
        cargo bench --quiet --no-run --bench "$1" --message-format=json | sed -n 's/.*"name":"'"$1"'".*"executable":"\([^"]*\)".*/\1/p')
    cp "$built" "$2/$1"
}

# The user's RUSTFLAGS, and flags that keep the names of these folders out of the built programs.
without_paths() {
    local folder flags
    read -ra flags <<<"${RUSTFLAGS:-}"
    for folder in "$@"; do flags+=("--remap-path-prefix=$(realpath -m "$folder")=${folder##*/}"); done
    local IFS=$'\037'
    echo "${flags[*]}"
}

# If no file was given, sets $file to a generated election. Few ballots with many equal ranks are
# most of the work of this election.
election() {
    [ -z "$file" ] || return 0
    file=$work/election.blt
    "$built/generate" --kind sorted --ballots "$(if [ -n "$quick" ]; then echo 300; else echo 20000; fi)" --seed 1 >"$file"
}

# The default: the STV count with each of these kinds of threads; "no" means without threads.
count() {
    local kind names_of_kinds=''
    [ ${#commands[@]} -eq 0 ] || return 0
    built=$(examples stv stv-rayon generate)
    election
    for kind in "$@"; do
        case $kind in
        rayon) commands+=(-- "$built/stv-rayon" "$file" --num-threads "$threads" --as-droop) ;;
        *) commands+=(-- "$built/stv" --arithmetic fixed9 --input "$file" meek --num-threads "$threads" --parallel "$kind" --equal-ranks as-droop) ;;
        esac
        names_of_kinds+=,${kind/#no/serial}
    done
    names=${names:-${names_of_kinds#,}}
}

# Prints the answer of the Python program on standard input for its arguments. Keeps the answer as a
# file unless the program fails.
answer() {
    mkdir -p "$results"
    RESULTS=$results SUFFIX=$suffix STAMP=$stamp NAMES=$names QUESTION=$question WORK=$work QUICK=$quick \
        PYTHONPATH=$top/profiling/common PYTHONDONTWRITEBYTECODE=1 PYTHONUTF8=1 python3 -u - "$@" | tee "$work/said" || return
    mv "$work/said" "$results/$question$suffix.txt"
}

# The machine and the commit, without names of hosts, users and paths.
machine() {
    local model commit
    model=$(sed -n '/^model name[[:space:]]*: / { s///p; q }' /proc/cpuinfo)
    [ -n "$model" ] || model=$(uname -m)
    cpus=$(getconf _NPROCESSORS_ONLN)
    commit=$(git -C "$top" rev-parse --short HEAD 2>/dev/null || echo unknown)
    [ -z "$(git -C "$top" status --porcelain -- . ':!profiling/results' 2>/dev/null)" ] || commit+=" and changes"
    stamp="$model, $cpus CPUs, commit $commit, $(date -u +%F)"
    suffix=$(tr -cs '[:alnum:]' - <<<"-$model" | tr '[:upper:]' '[:lower:]')$cpus
}

work=$(mktemp -d)
loops=() # processes that end with this one
end() {
    [ ${#loops[@]} -eq 0 ] || kill "${loops[@]}" 2>/dev/null || true
    rm -rf "$work"
}
trap end EXIT
machine
