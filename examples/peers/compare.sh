#!/usr/bin/env bash
# Compares `meshrti sim via-torus` with SimGrid and ns-3 on the same messages, taking turns on this machine, and with itself on larger tori.
#
#   examples/peers/compare.sh            everything that is installed here
#   examples/peers/compare.sh simgrid    max-min and min-share beside SimGrid, the whole study
#   examples/peers/compare.sh ns3        packets beside ns-3, a twentieth of a second
#   examples/peers/compare.sh sizes      processor time of an event from 1,024 to 65,536 hosts
#
# Settings: MESHRTI (the program, target/release/meshrti by default), ROUNDS (5), PEERS_UNTIL (10s; when the messages for SimGrid end),
# PEERS_PACKETS_UNTIL (1.55s; the same for ns-3). Installs nothing: see README.md.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
meshrti=${MESHRTI:-$here/../../target/release/meshrti}
rounds=${ROUNDS:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "error: $*" >&2; exit 1; }
command -v g++ >/dev/null || fail "no g++: apt-get install g++"
[[ -x $meshrti ]] || fail "$meshrti is not there: cargo build --release, or set MESHRTI"

# The value of a key of the one run in a report: `"key": value`.
value() { sed -n "s/^ *\"$1\": \([-0-9.e+]*\),\{0,1\}$/\1/p" "$2" | head -n 1; }

# Messages and processor seconds of a run of ours: `ours FLAGS...`.
ours() {
    "$meshrti" sim via-torus "$@" --json "$work/report.json" >/dev/null
    echo "$(value messages "$work/report.json") $(value cpu_s "$work/report.json")"
}

# The same of a program here: it prints messages=N ... cpu_s=S.
theirs() { "$@" 2>/dev/null | sed -n 's/.* messages=\([0-9]*\) .* cpu_s=\([0-9.]*\)$/\1 \2/p'; }

# Adds messages per processor second to a list.
note() { awk -v line="$2" 'BEGIN { split(line, part, " "); printf "%.0f\n", part[1] / part[2] }' >>"$work/$1.runs"; }
median() { sort -n "$work/$1.runs" | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }
row() { printf '%-34s %14s %14s %14s %9s\n' "$@"; }
show() { row "$1" "$(sort -n "$work/$2.runs" | head -n 1)" "$(median "$2")" "$(sort -n "$work/$2.runs" | tail -n 1)" \
    "$(awk -v a="$(median "$2")" -v b="$(median "$3")" 'BEGIN { printf "%.1f", a / b }')"; }

# How far latencies of a program are from ours, which have 25.52 us more, in hosts: `differ MESSAGES LATENCIES`.
differ() {
    awk -F, 'NR == FNR { if (FNR > 1) ours[$1] = ($6 - 25520000) * 1e-12; next }
        { d = $2 - ours[$1]; if (d < 0) d = -d; if (d > most) most = d; if (d / $2 > part) part = d / $2; sum += ours[$1]; theirs += $2 }
        END { printf "  %d latencies: means %.6f and %.6f us; they differ by at most %.3g us, or %.2g of one\n",
              FNR, sum / FNR * 1e6, theirs / FNR * 1e6, most * 1e6, part }' "$1" "$2"
}

simgrid() {
    local until=${PEERS_UNTIL:-10s} round
    g++ -O2 -std=c++17 -o "$work/simgrid" "$here/simgrid.cpp" -lsimgrid
    "$meshrti" sim via-torus --sharing max-min --until "$until" --messages "$work/fluid.csv" >/dev/null
    for ((round = 0; round < rounds; round++)); do
        note max-min "$(ours --sharing max-min --until "$until")"
        note simgrid "$(theirs "$work/simgrid" "$work/fluid.csv")"
        note min-share "$(ours --sharing min-share --until "$until")"
    done
    row "messages per processor second" least median most ratio
    show "SimGrid (max-min)" simgrid simgrid
    show "meshrti, max-min" max-min simgrid
    show "meshrti, min-share" min-share simgrid
    "$work/simgrid" "$work/fluid.csv" "$work/simgrid.csv" --cfg=surf/precision:1e-13 >/dev/null 2>&1
    differ "$work/fluid.csv" "$work/simgrid.csv"
}

ns3() {
    local until=${PEERS_PACKETS_UNTIL:-1.55s} round
    g++ -O2 -std=c++17 -o "$work/ns3" "$here/ns3.cpp" -lns3-internet -lns3-point-to-point -lns3-network -lns3-core
    "$meshrti" sim via-torus --packets 1KiB --until "$until" --messages "$work/packets.csv" >/dev/null
    for ((round = 0; round < rounds; round++)); do
        note packets "$(ours --packets 1KiB --until "$until")"
        note ns3 "$(theirs "$work/ns3" "$work/packets.csv" "$work/ns3.csv")"
    done
    row "messages per processor second" least median most ratio
    show "ns-3 (packets)" ns3 ns3
    show "meshrti, packets of 1 KiB" packets ns3
    differ "$work/packets.csv" "$work/ns3.csv"
}

# A million messages in each run, or 50,000 as packets, whatever the size: the same events per host and second.
sizes() {
    local side round model flags seconds
    g++ -O2 -std=c++17 -o "$work/memory" "$here/memory.cpp"
    for model in min-share max-min packets; do
        flags=(--sharing "$model")
        [[ $model != packets ]] || flags=(--packets 1KiB)
        for ((round = 0; round < rounds; round++)); do
            for side in 16 32 64 128; do
                seconds=$(awk -v side="$side" -v all="$([[ $model == packets ]] && echo 50000 || echo 1000000)" \
                    'BEGIN { printf "%.6f", 1.5 + all / (side * side * 400) }')
                note "$model-$side" "$(ours --torus "${side}x$side" --until "${seconds}s" "${flags[@]}")"
            done
        done
        row "messages per processor second" least median most "to 1,024"
        for side in 16 32 64 128; do show "$model, $((side * side * 4)) hosts" "$model-$side" "$model-16"; done
    done
    echo "reads of memory, ns, alone and sixteen together:"
    "$work/memory" 300000 1200000 3000000 12000000
}

has() { printf '#include <%s>\n' "$1" | g++ -std=c++17 -E -x c++ - >/dev/null 2>&1; }
try() {
    if has "$2"; then "$1"; else echo "$1: not installed, left out: apt-get install $3"; fi
}
case ${1:-all} in
simgrid) has simgrid/s4u.hpp || fail "no SimGrid: apt-get install libsimgrid-dev"; simgrid ;;
ns3) has ns3/core-module.h || fail "no ns-3: apt-get install libns3-dev"; ns3 ;;
sizes) sizes ;;
all)
    try simgrid simgrid/s4u.hpp libsimgrid-dev
    try ns3 ns3/core-module.h libns3-dev
    sizes
    ;;
*) sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
