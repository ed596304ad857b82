# SPDX-License-Identifier: GPL-2.0
# Reads the kernel's log without times and prints the headline of each data race that KCSAN
# reports in it, with "ours: " or "elsewhere: " before it. Documentation/debug-kernels.rst
# says why.

# Ours is one with the module in a stack, or one of which only the kernel's access is known,
# as Rust's accesses are not instrumented, where that is in the code that keeps the
# fields that the module writes to, too.
function end_report() {
	if (headline != "")
		print (ours ? "ours: " : "elsewhere: ") headline
	headline = ""
	ours = at_top = 0
}

/^=+$/ { end_report() }
/^BUG: KCSAN: / { headline = $0; next }
headline == "" { next }
/\[blkacct\]/ { ours = 1 }
at_top {
	at_top = 0
	if ($1 ~ /^(update_io_ticks|(__)?blk_|bdev_(start|end)_io_acct|bio_(start|end)_io_acct|attempt_merge|bio_attempt_)/)
		ours = 1
}
/^race at unknown origin/ { at_top = 1 }
END { end_report() }
