// SPDX-License-Identifier: GPL-2.0
/*
 * Breaks ftrace as a fault in it does: it gives no hook back any more, and goes on
 * calling those that there are. For tests only; until the next boot.
 */
#include <linux/kprobes.h>
#include <linux/module.h>

static int __init blkacct_ftrace_kill_init(void)
{
	/* It is not exported; a probe tells where it is. */
	struct kprobe probe = { .symbol_name = "ftrace_kill" };
	void (*kill)(void);
	int err = register_kprobe(&probe);

	if (err)
		return err;
	/* The probe comes after the instruction that an indirect call lands on. */
	kill = (void *)ALIGN_DOWN((unsigned long)probe.addr, 16);
	unregister_kprobe(&probe);
	kill();
	return 0;
}
module_init(blkacct_ftrace_kill_init);

static void __exit blkacct_ftrace_kill_exit(void)
{
}
module_exit(blkacct_ftrace_kill_exit);

MODULE_DESCRIPTION("Breaks ftrace, for the tests of blkacct");
MODULE_LICENSE("GPL");
