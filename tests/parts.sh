# Sourced by tests/run and tests/quick: parts of a run of tests, what each took, and the count of all at the end.
#
# A part is a function; PARTS names them all, in the order in which they are meant to begin. Each may add to these files:
#   $COUNTS         a line "passed failed skipped"
#   $COUNTS.skips   why a test was skipped, a line each
#   $COUNTS.times   what a test took: seconds, a tab, its name
#   $COUNTS.failed  what tests/recheck is to run again; $COUNTS.flaky what passed then
said=$(mktemp -d)
export COUNTS=$said/counts
trap 'rm -rf "$said"' EXIT
: >"$said/begun"
# What is told at once stands here, wherever a part's own output goes.
exec 3>&1

# $1 name, then a command: a step that passes or fails as a whole, or is skipped (exit status 77), since what it needs is not there.
step() {
    local name=$1
    shift
    "$@"
    case $? in
    0) echo "1 0 0" >>"$COUNTS" ;;
    77) echo "0 0 1" >>"$COUNTS" && echo "$name: what it needs is not installed" >>"$COUNTS.skips" ;;
    *) echo "FAIL $name" && echo "0 1 0" >>"$COUNTS" ;;
    esac
}

# Ticks of all processors since the boot: idle ones, and all.
ticks() {
    awk '{print $5 + $6, $2 + $3 + $4 + $5 + $6 + $7 + $8 + $9; exit}' /proc/stat
}

# $1: the part's function. What it took goes to the terminal and to $said/took.
part() {
    local name=${1//_/ } began=$SECONDS idle all idle_then all_then left
    echo "$1" >>"$said/begun"
    left=$(printf '%s\n' "${PARTS[@]}" | grep -vxFf "$said/begun" | tr '\n_' ', ' | sed 's/,$//; s/,/, /g')
    echo "== $(date +%T) $name: part $(wc -l <"$said/begun") of ${#PARTS[@]}; ${left:-nothing} to come" >&3
    read -r idle all < <(ticks)
    "$1"
    read -r idle_then all_then < <(ticks)
    echo "$name: $((SECONDS - began)) s, processors $((100 * (idle_then - idle) / (all_then - all + 1))) % idle" | tee -a "$said/took" |
        sed "s/^/== $(date +%T) done, /" >&3
}

# What each part took, the slowest tests, why tests were skipped, and the count in one line, the last one. 1 if any failed.
conclude() {
    local passed failed skipped
    sed 's/^/part /' "$said/took"
    [ ! -s "$COUNTS.times" ] || { echo "the slowest tests:" && sort -rn "$COUNTS.times" | head -n 20 | awk -F'\t' '{printf "%7.1f s  %s\n", $1, $2}'; }
    cat "$COUNTS.skips" 2>/dev/null | sort | uniq -c | sort -rn | sed 's/^ *\([0-9]*\) /skipped \1: /'
    cat "$COUNTS.flaky" 2>/dev/null
    read -r passed failed skipped < <(awk '{p += $1; f += $2; s += $3} END {print p + 0, f + 0, s + 0}' "$COUNTS")
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
}
