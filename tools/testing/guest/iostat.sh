#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# In mode 2 an unmodified iostat and fio's own "disk util" tell what blkacct tells, on
# loads of which the kernel's own io_ticks makes 0 % or 100 %, or charges idle time; and
# so do their latencies.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/plug.sh"

pauses() { # PID: in pause(), where iostat waits for the end of its interval
	grep -qs '^34 ' "/proc/$1/syscall"
}

# iostat_agrees DEVICE ARGUMENT...: runs a load of rig in the middle of one interval of
# iostat, so that both have all of it, and compares the shares of time busy, in 1/100 %. How
# long the interval was follows from iostat's r/s. It is longer where a load takes longer.
iostat_agrees() {
	local device=$1 interval iostat fits='' shown rate busy
	local -A before=() after=()
	shift
	mode "$device" 2
	for interval in 6 12 24 48; do
		iostat -x -y -o JSON "$device" $interval 1 >/tmp/iostat.json &
		iostat=$!
		eventually 10 pauses $iostat
		ours before "$device"
		rig "--disk=/dev/$device" "$@"
		ours after "$device"
		! pauses $iostat || fits=yes
		wait $iostat
		[ -z "$fits" ] || break
	done
	[ -n "$fits" ] || { echo "the load took longer than $interval s"; return 1; }
	since after before
	read -r shown rate <<<"$(python3 -c '
import json
host = json.load(open("/tmp/iostat.json"))["sysstat"]["hosts"][0]
disk = host["statistics"][0]["disk"][0]
print(*(round(disk[name] * 100) for name in ("util", "r/s")))')"
	busy=$((after[io_ticks] * rate / ${after[read.ios]} / 10000000))
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

a_plug_of_reads_takes_what_fio_says() {
	plug_of_reads batch
	# fio sees each some time after its end, however long: shares.sh has a bound for it.
	within "blkacct's mean" "$mean" 2000 "$lat"
}

# Reads and writes of many sizes, all in the middle of one interval of both tools: every
# column of iostat -x is the same in stat -x. iostat's clock has steps of 10 ms and its
# times are in ms, so rates may differ by 2 %, and means by a ms of the sum of all. One of the
# intervals can be longer than the other: by as much as r/s says, all rates are lower.
every_column_is_iostats() {
	local interval iostat ours fits=''
	mode disk 2
	for interval in 6 12 24 48; do
		blkacct stat -x -o JSON disk "$interval" 2 >/tmp/ours.json &
		ours=$!
		eventually 10 grep -q disk_device /tmp/ours.json
		iostat -d -x -y -o JSON disk "$interval" 1 >/tmp/iostat.json &
		iostat=$!
		eventually 10 pauses $iostat
		fio --name=mix --filename=/dev/disk --direct=1 --rw=randrw --bsrange=4k-64k \
			--ioengine=libaio --iodepth=4 --number_ios=600 --output=/dev/null
		! { pauses $iostat && kill -0 $ours; } || fits=yes
		wait $iostat
		wait $ours
		[ -z "$fits" ] || break
	done
	[ -n "$fits" ] || { echo "the load took longer than $interval s"; return 1; }
	no_anomalies disk
	python3 -c '
import json
def last(path):
    return json.load(open(path))["sysstat"]["hosts"][0]["statistics"][-1]["disk"][0]
ours, iostat = last("/tmp/ours.json"), last("/tmp/iostat.json")
wrong = sorted(set(ours) ^ set(iostat))
longer = iostat["r/s"] / ours["r/s"]
print("interval of stat / that of iostat:", longer)
for name, theirs in iostat.items():
    if name in wrong or name == "disk_device":
        continue
    print(f"{name:10} {ours[name]:10} {theirs:10}")
    is_rate = name.endswith("/s") or name in ("aqu-sz", "util")
    if abs(ours[name] * (longer if is_rate else 1) - theirs) > max(0.02, 0.02 * theirs):
        wrong.append(name)
if not iostat["r/s"] or not iostat["w/s"]:
    wrong.append("no load")
raise SystemExit(f"not the same: {wrong}" if wrong else 0)'
}

clean_up() {
	remove_null disk batch
}

clean_up
load_module
add_null disk completion_nsec=1000000
add_null batch completion_nsec=2000000
ktap_print_header
ktap_set_plan 7
ktap_test_result iostat_on_reads_between_two_ticks in_step_with_the_tick 500
ktap_test_result iostat_on_reads_across_the_tick in_step_with_the_tick 3500
ktap_test_result iostat_on_reads_together_after_idle together_after_idle
ktap_test_result iostat_on_reads_with_think_time think_time
ktap_test_result stat_x_has_every_column_of_iostat every_column_is_iostats
ktap_test_result fio_on_its_own_load fio_agrees
ktap_test_result iostat_and_fio_on_a_plug_of_reads a_plug_of_reads_takes_what_fio_says
clean_up
ktap_finished
