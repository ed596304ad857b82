#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# In mode 2 an unmodified iostat and fio's own "disk util" tell what blkacct tells, on
# loads of which the kernel's own io_ticks makes 0 % or 100 %, or charges idle time; and
# so do their latencies.
. "$(dirname "$0")/lib.sh"

interval=6

pauses() { # PID: in pause(), where iostat waits for the end of its interval
	grep -q '^34 ' "/proc/$1/syscall"
}

# iostat_agrees DEVICE ARGUMENT...: runs a load of rig in the middle of one interval of
# iostat, so that both have all of it, and compares the shares of time busy, in 1/100 %.
iostat_agrees() {
	local device=$1 iostat shown busy
	local -A before=() after=()
	shift
	mode "$device" 2
	iostat -x -y -o JSON "$device" $interval 1 >/tmp/iostat.json &
	iostat=$!
	eventually 10 pauses $iostat
	ours before "$device"
	rig "--disk=/dev/$device" "$@"
	ours after "$device"
	since after before
	pauses $iostat || { echo "the load took longer than the interval"; return 1; }
	wait $iostat
	shown=$(python3 -c '
import json
host = json.load(open("/tmp/iostat.json"))["sysstat"]["hosts"][0]
print(round(host["statistics"][0]["disk"][0]["util"] * 100))')
	busy=$((after[io_ticks] / (interval * 100000)))
	echo "busy: $busy by blkacct, $shown by iostat, in 1/100 %"
	within "%util of iostat" "$shown" $((busy - 100)) $((busy + 100))
	no_anomalies "$device"
}

# A load of 1 ms reads from the same place in each tick of 4 ms.
in_step_with_the_tick() { # PHASE-IN-US
	iostat_agrees disk paced --ios=400 --every-us=4000 --phase-us="$1" --spin-us=500
}

together_after_idle() {
	iostat_agrees disk together --threads=4 --every-ms=100 --rounds=20
}

think_time() {
	iostat_agrees disk paced --ios=300 --think-us=4000
}

fio_agrees() {
	local -A before=() after=()
	local util runtime busy
	mode disk 2
	ours before disk
	fio --name=util --filename=/dev/disk --direct=1 --rw=randread --bs=4k --ioengine=psync \
		--thinktime=3000 --time_based --runtime=3 --output-format=json --output=/tmp/util.json
	ours after disk
	since after before
	read -r util runtime <<<"$(python3 -c '
import json
found = json.load(open("/tmp/util.json"))
print(round(found["disk_util"][0]["util"] * 100), found["jobs"][0]["job_runtime"])')"
	busy=$((after[io_ticks] / (runtime * 100)))
	echo "busy: $busy by blkacct, $util by fio, in 1/100 %"
	# fio's window is longer than its job, and shorter than ours.
	within "util of fio" "$util" $((after[io_ticks] * 10000 / after[time_ns] - 100)) $((busy + 100))
	no_anomalies disk
}

# 32 reads of 2 ms in each plug. fio's clat is from the end of the submission until it
# reaps the batch, ours from each start to its completion, so they differ by what fio and
# the system need for a batch: on emulated CPUs a good part of 2 ms.
a_plug_of_reads_takes_what_fio_says() {
	local -A us=()
	local clat lat nsecs mean await
	mode batch 2
	fio --name=batch --filename=/dev/batch --direct=1 --rw=randread --bs=4k --ioengine=libaio \
		--iodepth=32 --iodepth_batch_submit=32 --iodepth_batch_complete_min=32 \
		--number_ios=960 --output-format=json --output=/tmp/batch.json
	ours us batch
	read -r clat lat <<<"$(python3 -c '
import json
read = json.load(open("/tmp/batch.json"))["jobs"][0]["read"]
print(*(int(read[name]["mean"] / 1000) for name in ("clat_ns", "lat_ns")))')"
	await=$(iostat -dx -o JSON batch | python3 -c '
import json, sys
disk = json.load(sys.stdin)["sysstat"]["hosts"][0]["statistics"][0]["disk"][0]
print(int(disk["r_await"] * 1000))')
	nsecs=${us[read.nsecs]}
	mean=$((nsecs / ${us[read.ios]} / 1000))
	echo "mean us: fio clat $clat, lat $lat; blkacct $mean; iostat r_await $await"
	# fio's clat begins when all of a batch is submitted, its lat before the first of it is.
	within "blkacct's mean" "$mean" 2000 "$lat"
	within "blkacct's mean against fio's clat" "$mean" $((clat * 60 / 100)) "$lat"
	close "iostat's r_await against blkacct" "$await" "$mean" 2
	close "time_in_queue against nsecs" "${us[time_in_queue]}" "$nsecs" 1
	no_anomalies batch
}

clean_up() {
	remove_null disk batch
}

clean_up
load_module
add_null disk completion_nsec=1000000
add_null batch completion_nsec=2000000
ktap_print_header
ktap_set_plan 6
ktap_test_result iostat_on_reads_between_two_ticks in_step_with_the_tick 500
ktap_test_result iostat_on_reads_across_the_tick in_step_with_the_tick 3500
ktap_test_result iostat_on_reads_together_after_idle together_after_idle
ktap_test_result iostat_on_reads_with_think_time think_time
ktap_test_result fio_on_its_own_load fio_agrees
ktap_test_result iostat_and_fio_on_a_plug_of_reads a_plug_of_reads_takes_what_fio_says
clean_up
ktap_finished
