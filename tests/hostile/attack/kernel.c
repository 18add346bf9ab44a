/* Calls that change the machine, or reach parts of the kernel that ordinary programs do not need. */
#include "attack.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <string.h>
#include <sys/io.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/reboot.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * The kernel looks at the right first and at the arguments, which are wrong on purpose, then: their error says that it
 * would have been allowed, and nothing happens to the machine.
 */
static void allowed_but_for(int error, long result)
{
	if (result == -1 && errno != error)
		held_by_errno();
	broke("it may");
}

static void rebooted(const char *unused)
{
	(void)unused;
	allowed_but_for(EINVAL, syscall(SYS_reboot, 0xfee1dead, 672274793, 0x12345678, NULL));
}

static void kexec(const char *unused)
{
	(void)unused;
	allowed_but_for(EINVAL, syscall(SYS_kexec_load, 0UL, 0UL, NULL, ~0UL));
}

static void module_loaded(const char *unused)
{
	(void)unused;
	allowed_but_for(ENOEXEC, syscall(SYS_init_module, "attack", 6UL, ""));
}

static void module_removed(const char *unused)
{
	(void)unused;
	allowed_but_for(ENOENT, syscall(SYS_delete_module, "attack", 0));
}

static void swapped_on(const char *path)
{
	allowed_but_for(ENOENT, swapon(path, 0));
}

static void swapped_off(const char *path)
{
	allowed_but_for(ENOENT, swapoff(path));
}

static void accounted(const char *path)
{
	allowed_but_for(ENOENT, acct(path));
}

/* Each sets what is there already. */
static void clock_set(const char *unused)
{
	struct timex now = {0};

	(void)unused;
	if (adjtimex(&now) < 0)
		held_by_errno();
	judge(adjtimex(&(struct timex){.modes = ADJ_TICK, .tick = now.tick}));
}

static void named(const char *unused)
{
	char name[128] = "";

	(void)unused;
	if (gethostname(name, sizeof(name) - 1) < 0)
		held_by_errno();
	judge(sethostname(name, strlen(name)));
}

static void messages_read(const char *unused)
{
	char text[4096];

	(void)unused;
	judge(klogctl(3, text, sizeof(text)));
}

static void messages_silenced(const char *unused)
{
	(void)unused;
	allowed_but_for(EINVAL, klogctl(8, NULL, 1000));
}

static void ports(const char *unused)
{
	(void)unused;
#ifdef __x86_64__
	judge(iopl(3));
#else
	errno = ENOSYS;
	held_by_errno();
#endif
}

static void filter_program(const char *unused)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};

	(void)unused;
	judge(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));
}

static void counters(int exclude_kernel)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.exclude_kernel = (unsigned)exclude_kernel & 1};

	judge(syscall(SYS_perf_event_open, &attr, exclude_kernel ? 0 : -1, exclude_kernel ? -1 : 0,
		-1, 0));
}

static void counters_machine(const char *unused)
{
	(void)unused;
	counters(0);
}

static void counters_own(const char *unused)
{
	(void)unused;
	counters(1);
}

static void faults(const char *unused)
{
	(void)unused;
	judge(syscall(SYS_userfaultfd, UFFD_USER_MODE_ONLY));
}

static void ring(const char *unused)
{
	struct io_uring_params params = {0};

	(void)unused;
	judge(syscall(SYS_io_uring_setup, 1, &params));
}

static void odd_personality(const char *unused)
{
	(void)unused;
	judge(personality(ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC));
}

/* getpid by the 32-bit table and by x32's: another number for every call that a list has. */
static void foreign_32(const char *unused)
{
	(void)unused;
#ifdef __x86_64__
	int result = 0;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory", "r8", "r9", "r10", "r11");
	errno = -result;
	judge(result < 0 ? -1 : 0);
#else
	errno = ENOSYS;
	held_by_errno();
#endif
}

static void foreign_x32(const char *unused)
{
	(void)unused;
#ifdef __x86_64__
	judge(syscall(0x40000000 | SYS_getpid));
#else
	errno = ENOSYS;
	held_by_errno();
#endif
}

const struct attack attacks_kernel[] = {{"kernel-reboot", "reboot", "EPERM", rebooted},
	{"kernel-kexec", "load another kernel", "EPERM ENOSYS", kexec, NULL,
		"not every kernel can"},
	{"kernel-module-load", "load a module", "EPERM ENOSYS", module_loaded, NULL,
		"not every kernel has modules"},
	{"kernel-module-remove", "remove a module", "EPERM ENOSYS", module_removed, NULL,
		"not every kernel has modules"},
	{"kernel-swap-on", "swap to a file", "EPERM ENOSYS", swapped_on, "/nothing", NULL},
	{"kernel-swap-off", "stop swapping", "EPERM ENOSYS", swapped_off, "/nothing", NULL},
	{"kernel-accounting", "have every process of the machine written down", "EPERM ENOSYS",
		accounted, "/nothing", "not every kernel has it"},
	{"kernel-clock", "set the machine's clock", "EPERM", clock_set},
	{"kernel-hostname", "set the host's name", "EPERM", named},
	{"kernel-log-silence", "silence the kernel's messages", "EPERM", messages_silenced},
	{"kernel-ports", "the machine's input and output ports", "EPERM ENOSYS", ports, NULL,
		"not every kernel has them"},
	{"kernel-counters", "measure all processes of the machine", "EPERM EACCES ENOSYS",
		counters_machine},
	{"kernel-log", "read the kernel's messages (syslog)", "EPERM ENOSYS", messages_read,
		.needs = NEEDS_FILTER},
	{"kernel-bpf", "bpf", "EPERM ENOSYS", filter_program, .needs = NEEDS_FILTER},
	{"kernel-counters-own", "measure itself (perf_event_open)", "EPERM EACCES ENOSYS",
		counters_own, .needs = NEEDS_FILTER},
	{"kernel-userfaultfd", "userfaultfd", "EPERM ENOSYS", faults, .needs = NEEDS_FILTER},
	{"kernel-io-uring", "io_uring", "EPERM ENOSYS", ring, .needs = NEEDS_FILTER},
	{"kernel-personality", "run without address randomisation", "EPERM ENOSYS EINVAL",
		odd_personality, .needs = NEEDS_FILTER},
	{"kernel-32-bit", "calls of the 32-bit table", "EPERM ENOSYS", foreign_32, NULL,
		"not every kernel has it", NEEDS_FILTER},
	{"kernel-x32", "calls of the x32 table", "EPERM ENOSYS", foreign_x32, NULL,
		"hardly a kernel has it", NEEDS_FILTER},
	{0}};
