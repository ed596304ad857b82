# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Reads in plugs, by fio's own record, by ours and by iostat's. Sourced.

# plug_of_reads DEVICE: 32 reads of 2 ms in each plug. fio's clat is from the end of the
# submission until it reaps the batch, ours from each start to its completion, so they differ by
# what fio and the system need for a batch. Leaves the means in "clat", "lat" and "mean", in us.
plug_of_reads() {
	local -A us=() us_before=()
	local nsecs await
	mode "$1" 2
	ours us_before "$1"
	fio --name=batch --filename="/dev/$1" --direct=1 --rw=randread --bs=4k --ioengine=libaio \
		--iodepth=32 --iodepth_batch_submit=32 --iodepth_batch_complete_min=32 \
		--number_ios=960 --output-format=json --output=/tmp/batch.json
	ours us "$1"
	since us us_before
	read -r clat lat <<<"$(python3 -c '
import json
read = json.load(open("/tmp/batch.json"))["jobs"][0]["read"]
print(*(int(read[name]["mean"] / 1000) for name in ("clat_ns", "lat_ns")))')"
	await=$(iostat -dx -o JSON "$1" | python3 -c '
import json, sys
disk = json.load(sys.stdin)["sysstat"]["hosts"][0]["statistics"][0]["disk"][0]
print(int(disk["r_await"] * 1000))')
	nsecs=${us[read.nsecs]}
	mean=$((nsecs / ${us[read.ios]} / 1000))
	echo "mean us: fio clat $clat, lat $lat; blkacct $mean; iostat r_await $await"
	close "iostat's r_await against blkacct" "$await" "$mean" 2
	close "time_in_queue against nsecs" "${us[time_in_queue]}" "$nsecs" 1
	no_anomalies "$1"
}
