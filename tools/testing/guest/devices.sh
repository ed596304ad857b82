#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# devices.sh [--update]: walks the kinds of block devices the stock kernel has, finds out
# what each does in the modes 0, 1 and 2, and compares with the table of
# Documentation/devices.rst. With --update it writes the table there instead:
#
#	tools/testing/guest-tests "devices --update"
#
# Whatever the table says, a device that takes mode 2 must count a known load exactly.
. "$(dirname "$0")/lib.sh"
# shellcheck source=tools/testing/guest/kinds.sh
. "$GUEST_DIR/kinds.sh"
# A row is put together in $(...), where a check that fails must end it too.
shopt -s inherit_errexit

DOCUMENT=$GUEST_DIR/../../../Documentation/devices.rst
READS=20 WRITES=10
RULE="============================  ========  ======  ======  ==========  =========="
FORMAT='%-28s  %-8s  %-6s  %-6s  %-10s  %s\n'

# The known load: one by one, none of it to be split or merged by any of the devices.
known_load() { # DEVICE
	read_blocks "$1" $READS
	write_blocks "$1" $WRITES
}

# kernel_counts DEVICE: what of a known load the kernel counts, as the table has it.
kernel_counts() {
	local -A before=() after=()
	kernels before "$1"
	known_load "$1"
	eventually 10 is_idle "$1"
	kernels after "$1"
	since after before
	case ${after[read.ios]}+${after[write.ios]} in
	0+0) echo none ;;
	"$READS+$WRITES") echo all ;;
	*) echo "${after[read.ios]}+${after[write.ios]}" ;;
	esac
}

# we_count DEVICE: the same for our numbers in mode 2, "all" or "none"; the sectors must be
# right too.
we_count() {
	local -A before=() after=()
	ours before "$1"
	known_load "$1"
	eventually 10 is_idle "$1"
	ours after "$1"
	since after before
	if [ "${after[read.ios]}+${after[write.ios]}" = 0+0 ]; then
		echo none
		return
	fi
	counted after read.ios=$READS read.sectors=$((READS * 8)) \
		write.ios=$WRITES write.sectors=$((WRITES * 8)) >&2
	no_anomalies "$1" >&2
	echo all
}

# mode_2 DEVICE: what comes of it, for the table. No other error than EOPNOTSUPP will do.
mode_2() {
	local said
	said=$(errno_of "$(sysfs "$1")/blkacct/iostats" 2)
	if [ "$said" = "Operation not supported" ]; then
		same "mode" "$(mode "$1")" 1 >&2
		echo EOPNOTSUPP
		return
	fi
	same "2 on $1" "$said" "" >&2
	same "mode" "$(mode "$1")" 2 >&2
	# I/O on a bio-based disk counts from the next jiffy on.
	sleep 0.02
	same "counted in mode 2" "$(we_count "$1")" all >&2
	echo all
}

# of_partition DEVICE MODE-2: what its first partition counts in mode 2, "-" if it cannot
# have any. The device's own numbers must contain it. A partition that counts nothing must
# say so, and the kernel must count nothing on it either.
of_partition() {
	local -A before=() after=()
	local first=$1 counts
	[[ $first != *[0-9] ]] || first+=p
	first=${first}1
	[ "$(cat "$(sysfs "$1")/ext_range")" -gt 1 ] || { echo -; return; }
	sfdisk -q "/dev/$1" <<<"start=2048 size=4096" >&2
	eventually 5 test -d "$(sysfs "$first")/blkacct" >&2
	if [ "$2" = EOPNOTSUPP ]; then
		echo -
	else
		ours before "$1"
		counts=$(we_count "$first")
		ours after "$1"
		since after before
		counted after read.ios=$READS read.sectors=$((READS * 8)) \
			write.ios=$WRITES write.sectors=$((WRITES * 8)) >&2
		case $counts in
		all) same "$first mode" "$(mode "$first")" 2 >&2 ;;
		none) same "$first mode" "$(mode "$first")" 0 >&2 ;;
		esac
		same "$first, as the kernel counts" "$(kernel_counts "$first")" "$counts" >&2
		echo "$counts"
	fi
	sfdisk -q --delete "/dev/$1" >&2
}

# Prints the row of a kind, and nothing else.
row() { # KIND TITLE
	local device accounts zero one two partition
	make_"$1" >&2
	[ -d "$(sysfs "$device")/mq" ] && accounts=requests || accounts=bios
	mode "$device" 0
	zero=$(kernel_counts "$device")
	mode "$device" 1
	one=$(kernel_counts "$device")
	two=$(mode_2 "$device")
	partition=$(of_partition "$device" "$two")
	mode "$device" 1
	drop_"$1" >&2
	# shellcheck disable=SC2059 # it is a format
	printf "$FORMAT" "$2" "$accounts" "$zero" "$one" "$two" "$partition"
}

is_as_documented() { # KIND TITLE
	local got
	got=$(row "$1" "$2")
	echo "$got" >>"$table"
	if [ -z "$update" ] && ! grep -qxF "$got" "$DOCUMENT"; then
		echo "found:      $got"
		echo "documented: $(grep -m 1 "^$2  " "$DOCUMENT")"
		return 1
	fi
}

# A request of the upper device is cloned into one of the path, and each is counted once,
# by its own device.
each_layer_counts_once() {
	local -A upper=() upper_before=() lower=() lower_before=()
	local path device
	make_dm_mpath
	mode "$device" 2
	mode "$path" 2
	ours upper_before "$device"
	ours lower_before "$path"
	known_load "$device"
	ours upper "$device"
	ours lower "$path"
	since upper upper_before
	since lower lower_before
	counted upper read.ios=20 read.sectors=160 write.ios=10 write.sectors=80
	counted lower read.ios=20 read.sectors=160 write.ios=10 write.sectors=80
	within "busy time below" "${lower[io_ticks]}" 1 "${upper[io_ticks]}"
	no_anomalies "$device" "$path"
	drop_dm_mpath
}

# The table in the document is between its first rule and its last.
replace_table() {
	awk -v rule="$RULE" -v format="$FORMAT" -v rows="$table" '
		$0 != rule { if (rules != 1 && rules != 2) print; next }
		++rules == 1 {
			print rule
			printf format, "device", "accounts", "mode 0", "mode 1", "mode 2", "partition"
			print rule
			while ((getline line <rows) > 0)
				print line
			print rule
		}' "$DOCUMENT" >/tmp/devices.rst
	cat /tmp/devices.rst >"$DOCUMENT"
}

the_document_has_no_other_row() {
	same "rows" "$(awk -v rule="$RULE" '$0 == rule { rules++; next } rules == 2' "$DOCUMENT" | wc -l)" \
		"$((${#kinds[@]} / 2))"
}

clean_up() {
	dmsetup remove_all --force 2>/dev/null
	remove_null low other this
}

update=${1:-}
table=$(mktemp)
clean_up
load_module
modprobe -a dm-mod dm-delay dm-crypt dm-multipath dm-round-robin raid0 raid1
add_null low memory_backed=1 size=16
add_null other memory_backed=1 size=16
ktap_print_header
ktap_set_plan $((${#kinds[@]} / 2 + 2))
for ((at = 0; at < ${#kinds[@]}; at += 2)); do
	# 7.2's nbd receives with a lock held that its queue takes below memory reclaim. lockdep
	# says so, whatever modules there are, and then looks at nothing else.
	if [ "${kinds[at]}" = nbd ] && [ -e /proc/lockdep ]; then
		ktap_test_skip nbd "lockdep has its own complaint about this driver"
	else
		ktap_test_result "${kinds[at]}" is_as_documented "${kinds[at]}" "${kinds[at + 1]}"
	fi
done
ktap_test_result each_layer_of_multipath_counts_once each_layer_counts_once
[ -z "$update" ] || replace_table
ktap_test_result the_document_has_no_other_row the_document_has_no_other_row
clean_up
ktap_finished
