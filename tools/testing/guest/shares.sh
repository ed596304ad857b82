#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# By how much the kernel's own busy time is off, and that with classic=0 it stays so; and what
# fio says of reads in a plug. For a guest whose time counts instructions (guest-tests): in any
# other a load takes as long as the host lets it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/plug.sh"

# busy_shares DEVICE: percent of the load's time busy by us, by the kernel, of reads that take a
# quarter of a tick or more and that all begin right before one. There is no other I/O.
busy_shares() {
	local wall
	local -A us=() us_before=() it=() it_before=()
	ours us_before "$1"
	kernels it_before "$1"
	rig "--disk=/dev/$1" paced --ios=400 --every-us=4000 --phase-us=3500 --spin-us=500 >/tmp/rig.json
	wall=$(sed -n 's/.*"wall_ns":\([0-9]*\).*/\1/p' /tmp/rig.json)
	ours us "$1"
	kernels it "$1"
	since us us_before
	since it it_before
	ours_share=$((us[io_ticks] * 100 / wall))
	kernels_share=$((it[io_ticks] * 100 * 1000000 / wall))
	echo "busy: $ours_share % by us, $kernels_share % by the kernel"
}

classic_0_leaves_the_kernels_own() {
	unload_module
	insmod "$MODULE" classic=0
	same classic "$(xargs <"$(sysfs slow)/blkacct/classic")" 0
	echo 2 >"$(sysfs slow)/queue/iostats"
	busy_shares slow
	within "the kernel's share" "$kernels_share" $((ours_share + 15)) 102
	unload_module
	load_module
	same classic "$(xargs <"$(sysfs slow)/blkacct/classic")" 1
	mode slow 2
	busy_shares slow
	within "the kernel's share" "$kernels_share" $((ours_share - 1)) $((ours_share + 1))
	no_anomalies slow
}

# On a CPU that loses nothing to others, fio is soon there.
a_plug_of_reads_takes_what_fio_says() {
	plug_of_reads batch
	# fio's clat begins when all of a batch is submitted, its lat before the first of it is.
	within "blkacct's mean against fio's clat" "$mean" $((clat * 60 / 100)) "$lat"
	within "blkacct's mean" "$mean" 2000 "$lat"
}

clean_up() {
	remove_null slow batch
}

clean_up
load_module
add_null slow completion_nsec=1000000
add_null batch completion_nsec=2000000
ktap_print_header
ktap_set_plan 2
ktap_test_result classic_0_leaves_the_kernels_own classic_0_leaves_the_kernels_own
ktap_test_result a_plug_of_reads_takes_what_fio_says a_plug_of_reads_takes_what_fio_says
clean_up
unload_module
ktap_finished
