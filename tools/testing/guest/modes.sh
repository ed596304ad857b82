#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# iostats 0, 1 and 2: what can be written, what it does, and to whom.
. "$(dirname "$0")/lib.sh"

queue_iostats() { # DEVICE: the block layer's own file
	cat "$(sysfs "$1")/queue/iostats"
}

every_mode_reads_back() {
	local written
	for written in 0 1 2 1 0 2 0 0 1 1 2 2 1; do
		mode disk "$written"
		same "mode" "$(mode disk)" "$written"
		same "queue/iostats" "$(queue_iostats disk)" "$written"
		same "the partition's mode" "$(mode disk1)" "$written"
	done
	same "2 without a newline" "$(errno_of "$switch" 2)" ""
	same "mode" "$(mode disk)" 2
}

bad_input_is_refused_and_changes_nothing() {
	local before text
	for before in 0 1 2; do
		mode disk $before
		for text in 3 $'\n' 2x ' 2' -1 02 +1 $'2\n\n' two "$(printf '2%.0s' {1..5000})"; do
			same "writing '${text:0:9}'" "$(errno_of "$switch" "$text")" "Invalid argument"
			same "mode" "$(mode disk)" $before
		done
		# sysfs does not pass on what has no length.
		same "writing nothing" "$(errno_of "$switch" "")" ""
		same "mode" "$(mode disk)" $before
	done
}

a_partition_follows_and_refuses() {
	mode disk 2
	same "writing to a partition's" "$(errno_of "$(sysfs disk1)/blkacct/iostats" 1)" \
		"Permission denied"
	same "mode" "$(mode disk1)" 2
}

the_kernels_own_switch_has_the_last_word() {
	local -A before=() after=()
	mode disk 2
	echo 0 >"$(sysfs disk)/queue/iostats"
	same "mode" "$(mode disk)" 0
	ours before disk
	read_blocks disk 5
	ours after disk
	since after before
	counted after
	mode disk 2
	same "mode" "$(mode disk)" 2
	read_blocks disk 5
	ours after disk
	since after before
	counted after read.ios=5 read.sectors=40
	no_anomalies disk
}

a_disk_is_alone_in_its_mode() {
	local switched
	local -A before=() after=()
	mode disk 2
	mode other 2
	ours before disk
	for switched in 0 1 2 1; do
		mode other "$switched"
		same "mode" "$(mode disk)" 2
		same "other's mode" "$(mode other)" "$switched"
		read_blocks disk 5
		read_blocks other 3
	done
	ours after disk
	since after before
	counted after read.ios=20 read.sectors=160
	ours after other
	counted after read.ios=3 read.sectors=24
	no_anomalies disk other
}

counted_ns() {
	cat "$(sysfs disk)/blkacct/counted_ns"
}

# Which is that of all periods, and stands still in between. A partition is in its disk's mode.
the_time_in_mode_2_is_told() {
	local first second left
	local -A began=() ended=()
	mode disk 1
	first=$(counted_ns)
	ours began disk
	mode disk 2
	sleep 0.2
	within "in mode 2" $(($(counted_ns) - first)) 200000000 $((1 << 40))
	mode disk 1
	ours ended disk
	left=$(counted_ns)
	within "afterwards" $((left - first)) 200000000 $((ended[time_ns] - began[time_ns]))
	sleep 0.1
	same "in mode 1" "$(counted_ns)" "$left"
	within "the partition's" "$(cat "$(sysfs disk1)/blkacct/counted_ns")" 200000000 $((1 << 40))
	mode disk 2
	second=$(counted_ns)
	within "in mode 2 again" "$second" "$left" $((1 << 40))
}

write_modes() { # NUMBER-OF-THE-WRITER
	local round
	RANDOM=$((BLKACCT_SEED + $1))
	for round in {1..25}; do
		mode disk $((RANDOM % 3))
	done
}

many_writers_end_consistent() {
	local writer pids=() pid last
	local -A before=() after=()
	for writer in {1..8}; do
		write_modes "$writer" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid"
	done
	last=$(mode disk)
	same "queue/iostats" "$(queue_iostats disk)" "$last"
	same "the partition's mode" "$(mode disk1)" "$last"
	mode disk 2
	ours before disk
	read_blocks disk 10
	ours after disk
	since after before
	counted after read.ios=10 read.sectors=80
	no_anomalies disk disk1
}

refuses_2() { # DEVICE
	local before after
	before=$(mode "$1")
	same "2 on $1" "$(errno_of "$(sysfs "$1")/blkacct/iostats" 2)" "Operation not supported"
	same "$1 mode" "$(mode "$1")" "$before"
	for after in 0 1; do
		mode "$1" $after
		same "$1 mode" "$(mode "$1")" $after
	done
}

a_disk_that_accounts_nothing_refuses_2() {
	modprobe brd rd_nr=1 rd_size=1024
	refuses_2 ram0
}

clean_up() {
	modprobe -qr brd
	remove_null disk other
}

clean_up
load_module
add_null disk memory_backed=1
partition disk
add_null other
switch=$(sysfs disk)/blkacct/iostats
ktap_print_header
ktap_set_plan 8
ktap_test_result every_mode_reads_back every_mode_reads_back
ktap_test_result bad_input_is_refused_and_changes_nothing bad_input_is_refused_and_changes_nothing
ktap_test_result a_partition_follows_and_refuses a_partition_follows_and_refuses
ktap_test_result the_kernels_own_switch_has_the_last_word the_kernels_own_switch_has_the_last_word
ktap_test_result a_disk_is_alone_in_its_mode a_disk_is_alone_in_its_mode
ktap_test_result the_time_in_mode_2_is_told the_time_in_mode_2_is_told
ktap_test_result many_writers_end_consistent many_writers_end_consistent
ktap_test_result a_disk_that_accounts_nothing_refuses_2 a_disk_that_accounts_nothing_refuses_2
clean_up
ktap_finished
