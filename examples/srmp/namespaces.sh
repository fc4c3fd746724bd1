#!/usr/bin/env bash
# Network namespaces that one bridge joins, for groups of many members on one machine, or as the computers of nodes. Needs
# the rights of root and iproute2.
#
#   examples/srmp/namespaces.sh up 20 site          # site1 to site20, each with the interface lan0
#   meshrti bench srmp --members 200 --interface lan0 --wan loss=5% --namespaces "$(examples/srmp/namespaces.sh names 20 site)"
#   examples/srmp/namespaces.sh down 20 site
#
#   examples/srmp/namespaces.sh up 2 host           # host1 at 10.77.0.1, host2 at 10.77.0.2
#   meshrti sim calibrate --hosts hosts.toml --namespaces "$(examples/srmp/namespaces.sh addresses 2 host)"
#   examples/srmp/namespaces.sh down 2 host
set -euo pipefail

usage() { sed -n '2,12s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[[ $# == 3 && $2 =~ ^[0-9]+$ && $2 -ge 1 && $2 -le 250 && $3 =~ ^[a-z]{1,8}$ ]] || usage
what=$1 count=$2 name=$3

case $what in
up)
    # The bridge has a namespace of its own: nothing of this can reach another network.
    ip netns add "${name}hub"
    ip -n "${name}hub" link add bridge0 type bridge mcast_snooping 0
    ip -n "${name}hub" link set bridge0 up
    for ((i = 1; i <= count; i++)); do
        ip netns add "$name$i"
        ip -n "${name}hub" link add "port$i" type veth peer name lan0 netns "$name$i"
        ip -n "${name}hub" link set "port$i" master bridge0 up
        ip -n "$name$i" address add "10.77.0.$i/24" dev lan0
        ip -n "$name$i" link set lan0 up
        ip -n "$name$i" link set lo up
    done
    ;;
down)
    for ((i = 1; i <= count; i++)); do ip netns delete "$name$i" || true; done
    ip netns delete "${name}hub" || true
    ;;
names)
    seq -s , -f "$name%g" 1 "$count"
    ;;
addresses)
    for ((i = 1; i <= count; i++)); do echo "$name$i=10.77.0.$i"; done | paste -sd ,
    ;;
*) usage ;;
esac
