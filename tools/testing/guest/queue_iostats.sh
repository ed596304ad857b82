#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# queue/iostats, the block layer's own file, takes 2: one switch with blkacct/iostats,
# with the same errors, given back when the module goes, and not missed without ftrace.
. "$(dirname "$0")/lib.sh"

queue_file() { # DEVICE
	echo "$(sysfs "$1")/queue/iostats"
}

# both DEVICE: what the two files show.
both() {
	echo "$(cat "$(queue_file "$1")") $(mode "$1")"
}

both_files_are_one_switch() {
	local file written
	for file in "$(queue_file disk)" "$(sysfs disk)/blkacct/iostats" "$(queue_file disk)"; do
		for written in 2 1 0 2 0 1 1 2 2; do
			echo "$written" >"$file"
			same "after $written to $file" "$(both disk)" "$written $written"
		done
	done
}

# Which also says that the queue's limits, locked for the write, are not left so.
bad_input_is_refused_and_changes_nothing() {
	local before text
	for before in 0 1 2; do
		echo $before >"$(queue_file disk)"
		for text in 3 x $'\n' 22 -1 ' 2' $'2\n\n'; do
			same "writing '$text'" "$(errno_of "$(queue_file disk)" "$text")" "Invalid argument"
			same "after '$text'" "$(both disk)" "$before $before"
		done
		same "writing nothing" "$(errno_of "$(queue_file disk)" "")" ""
		same "after nothing" "$(both disk)" "$before $before"
	done
}

has_one_in_flight() { # DEVICE
	local -A now=()
	kernels now "$1"
	[ "${now[in_flight]}" = 1 ]
}

refuses_while_it_hangs() { # DEVICE FROM TO
	local began reader
	echo "$2" >"$(queue_file "$1")"
	read_blocks "$1" 1 &
	reader=$!
	eventually 5 has_one_in_flight "$1"
	began=$SECONDS
	same "$1: from $2 to $3" "$(errno_of "$(queue_file "$1")" "$3")" "Device or resource busy"
	within "$1: the wait" $((SECONDS - began)) 4 12
	same "$1: afterwards" "$(both "$1")" "$2 $2"
	wait $reader
	echo "$3" >"$(queue_file "$1")"
	same "$1: when it has ended" "$(both "$1")" "$3 $3"
	no_anomalies "$1"
}

# Both ways at once, as each takes the 5 s for which the module waits.
a_hung_disk_is_busy() {
	local one other first
	read -r one other <<<"$(add_scsi 2 ndelay=10000)"
	echo 2000 >/sys/bus/pseudo/drivers/scsi_debug/delay # jiffies: 8 s
	refuses_while_it_hangs "$one" 1 2 &
	first=$!
	refuses_while_it_hangs "$other" 2 1
	wait $first
}

refuses_2() { # DEVICE
	local file after
	file=$(queue_file "$1")
	for after in 0 1; do
		echo $after >"$file"
		same "2 to $1" "$(errno_of "$file" 2)" "Operation not supported"
		same "$1 afterwards" "$(both "$1")" "$after $after"
	done
}

a_disk_that_accounts_nothing_refuses_2() {
	modprobe brd rd_nr=1 rd_size=1024
	refuses_2 ram0
	modprobe -qr brd
}

write_modes() { # NUMBER-OF-THE-WRITER FILE
	local round
	RANDOM=$((BLKACCT_SEED + $1))
	for round in {1..8}; do
		echo $((RANDOM % 3)) >"$2"
	done
}

counts_exactly() { # DEVICE, in mode 2
	local -A before=() after=()
	ours before "$1"
	read_blocks "$1" 10
	ours after "$1"
	since after before
	counted after read.ios=10 read.sectors=80
	no_anomalies "$1"
}

have_ended() { # PID...
	! kill -0 "$@" 2>/dev/null
}

# The two files take the queue's limits and our own lock; a wrong order would hang here.
many_writers_on_both_files_end_consistent() {
	local writer pids=() pid last
	for writer in {1..3}; do
		write_modes "$writer" "$(queue_file disk)" &
		pids+=($!)
		write_modes "1$writer" "$(sysfs disk)/blkacct/iostats" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		eventually 60 have_ended "$pid"
		wait "$pid"
	done
	last=$(mode disk)
	same "both files" "$(both disk)" "$last $last"
	mode disk 2
	counts_exactly disk
}

# write_on FILE: writes until the file "stop" is there; a file that is gone is no error.
write_on() {
	local next=0
	until [ -e "$stop" ]; do
		next=$((next + 1))
		{ [ -e "$1" ] && echo $((next % 3)) >"$1"; } 2>/dev/null || :
	done
}

# The kernel's own takes any number, and shows 1 for all but 0.
is_the_kernels_own() { # DEVICE
	echo 3 >"$(queue_file "$1")"
	same "3, to the kernel's own file," "$(cat "$(queue_file "$1")")" 1
}

the_module_goes_while_writers_are_busy() {
	local round pids=()
	stop=$(mktemp -u)
	trap 'touch $stop' EXIT
	for round in 1 2; do
		write_on "$(queue_file disk)" &
		pids+=($!)
		write_on "$(sysfs disk)/blkacct/iostats" &
		pids+=($!)
	done
	for round in {1..3}; do
		sleep 0.3
		unload_module
		same "symbols" "$(grep -c '\[blkacct\]' /proc/kallsyms)" 0
		[ "$round" = 3 ] || load_module
	done
	touch "$stop"
	wait "${pids[@]}"
	is_the_kernels_own disk
	load_module
	same "both files" "$(both disk)" "1 1"
	same "3 to ours" "$(errno_of "$(queue_file disk)" 3)" "Invalid argument"
	echo 2 >"$(queue_file disk)"
	counts_exactly disk
}

said() { # TEXT: how often the kernel's log has it
	dmesg | grep -cF "$1" || :
}

without_ftrace_our_own_file_remains() {
	local before_file before_ticks
	unload_module
	before_file=$(said "queue/iostats does not take 2")
	before_ticks=$(said "/proc/diskstats keeps the kernel's own")
	trap 'echo 1 >/proc/sys/kernel/ftrace_enabled' EXIT
	echo 0 >/proc/sys/kernel/ftrace_enabled
	load_module
	same "lines on queue/iostats" $(($(said "queue/iostats does not take 2") - before_file)) 1
	same "lines on /proc/diskstats" \
		$(($(said "/proc/diskstats keeps the kernel's own") - before_ticks)) 1
	same "blkacct/classic" "$(cat "$(sysfs disk)/blkacct/classic")" 0
	is_the_kernels_own disk
	mode disk 2
	same "both files" "$(both disk)" "1 2"
	counts_exactly disk
	unload_module
	echo 1 >/proc/sys/kernel/ftrace_enabled
	load_module
	echo 2 >"$(queue_file disk)"
	same "both files, with ftrace" "$(both disk)" "2 2"
}

# What would take the hooks away silently is refused while they are set.
ftrace_stays_on_while_the_module_needs_it() {
	local refused="Device or resource busy"
	ftrace_can_be_off || refused="Operation not supported"
	same "switching ftrace off" "$(errno_of /proc/sys/kernel/ftrace_enabled 0)" "$refused"
	same "ftrace" "$(cat /proc/sys/kernel/ftrace_enabled)" 1
	echo 1 >"$(queue_file disk)"
	echo 2 >"$(queue_file disk)"
	same "both files" "$(both disk)" "2 2"
}

tracing=/sys/kernel/tracing
stores_seen() { # by the kprobe, and by the BPF program
	echo "$(grep -c store_probe: "$tracing/trace") $(grep -c seen "$seen")" || :
}

stores_seen_are() { # NUMBER
	[ "$(stores_seen)" = "$1 $1" ]
}

# A kprobe, and a BPF program that calls the function itself, which must be ours. Neither
# owns it; whoever comes first, the file takes 2 and the tracers see it.
tracers_share_the_functions() {
	seen=$(mktemp)
	echo 1 >"$(queue_file disk)"
	echo >$tracing/trace
	echo 'p:store_probe queue_iostats_store' >$tracing/kprobe_events
	echo 1 >$tracing/events/kprobes/store_probe/enable
	bpftrace -B line -e 'fentry:vmlinux:queue_iostats_store { printf("seen\n"); }' >"$seen" 2>&1 &
	tracer=$!
	trap 'kill $tracer || :; echo 0 >$tracing/events/kprobes/store_probe/enable
		echo >$tracing/kprobe_events' EXIT
	eventually 300 grep -q '^queue_iostats_store .* D ' $tracing/enabled_functions
	echo 2 >"$(queue_file disk)"
	same "both files, with tracers" "$(both disk)" "2 2"
	eventually 60 stores_seen_are 1
	unload_module
	is_the_kernels_own disk
	load_module
	echo 2 >"$(queue_file disk)"
	same "both files, loaded with tracers on" "$(both disk)" "2 2"
	eventually 60 stores_seen_are 3
	counts_exactly disk
}

the_udev_rule_is_valid() {
	udevadm verify --no-summary "$GUEST_DIR/../../../samples/udev/60-blkacct.rules"
}

clean_up() {
	modprobe -qr brd
	remove_null disk
	remove_scsi
}

mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
clean_up
load_module
add_null disk
ktap_print_header
ktap_set_plan 10
ktap_test_result both_files_are_one_switch both_files_are_one_switch
ktap_test_result bad_input_is_refused_and_changes_nothing bad_input_is_refused_and_changes_nothing
ktap_test_result a_hung_disk_is_busy a_hung_disk_is_busy
ktap_test_result a_disk_that_accounts_nothing_refuses_2 a_disk_that_accounts_nothing_refuses_2
ktap_test_result many_writers_on_both_files_end_consistent many_writers_on_both_files_end_consistent
ktap_test_result the_module_goes_while_writers_are_busy the_module_goes_while_writers_are_busy
if ftrace_can_be_off; then
	ktap_test_result without_ftrace_our_own_file_remains without_ftrace_our_own_file_remains
else
	ktap_test_skip without_ftrace_our_own_file_remains "this kernel is never without"
fi
ktap_test_result ftrace_stays_on_while_the_module_needs_it ftrace_stays_on_while_the_module_needs_it
if [ -e /sys/kernel/btf/vmlinux ]; then
	ktap_test_result tracers_share_the_functions tracers_share_the_functions
else
	ktap_test_skip tracers_share_the_functions "a kernel without BPF"
fi
if [ -x "$(command -v udevadm)" ]; then
	ktap_test_result the_udev_rule_is_valid the_udev_rule_is_valid
else
	ktap_test_skip the_udev_rule_is_valid "no udevadm"
fi
clean_up
ktap_finished
