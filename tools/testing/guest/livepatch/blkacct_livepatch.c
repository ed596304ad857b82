// SPDX-License-Identifier: GPL-2.0
/*
 * A live patch of a function that blkacct replaces as well, for ../livepatch.sh: as one of a
 * vendor would, it has the file queue/iostats when it comes first.
 */
#include <linux/blkdev.h>
#include <linux/livepatch.h>
#include <linux/module.h>
#include <linux/sysfs.h>

static bool store;
module_param(store, bool, 0444);
MODULE_PARM_DESC(store, "Patch queue_iostats_store(), not queue_iostats_show()");

static ssize_t patched_show(struct gendisk *disk, char *page)
{
	return sysfs_emit(page, "patched\n");
}

static int patched_store(struct gendisk *disk, const char *page, size_t count,
			 struct queue_limits *lim)
{
	return -EPERM;
}

static struct klp_func funcs[2];

/* Without a name: the kernel itself. */
static struct klp_object objects[] = {
	{ .funcs = funcs },
	{ }
};

static struct klp_patch patch = {
	.mod = THIS_MODULE,
	.objs = objects,
};

static int __init blkacct_livepatch_init(void)
{
	funcs[0].old_name = store ? "queue_iostats_store" : "queue_iostats_show";
	funcs[0].new_func = store ? (void *)patched_store : (void *)patched_show;
	return klp_enable_patch(&patch);
}
module_init(blkacct_livepatch_init);

/* The kernel lets it go only when nobody is in it any more. */
static void __exit blkacct_livepatch_exit(void)
{
}
module_exit(blkacct_livepatch_exit);

MODULE_DESCRIPTION("Live patch of queue/iostats, a test of blkacct");
MODULE_LICENSE("GPL");
MODULE_INFO(livepatch, "Y");
