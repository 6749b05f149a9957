//go:build ignore

/*
 * pause holds the namespaces of a pod. As process 1 of the sandbox it waits for
 * signals and nothing else: TERM and INT end it, CHLD makes it collect the dead
 * children that the kernel hands to process 1 when containers share its process
 * namespace.
 *
 * It is freestanding: no C library, no start files, so that the result is a few
 * hundred bytes of code and the same bytes from the same compiler. The signals
 * stay blocked and are taken with rt_sigtimedwait; a blocked signal is queued
 * for process 1 even though it has no handler.
 */

typedef unsigned long word;

#if defined(__x86_64__)

#define SYS_rt_sigprocmask 14
#define SYS_rt_sigtimedwait 128
#define SYS_wait4 61
#define SYS_exit_group 231

static long call4(long number, word a, word b, word c, word d)
{
	register word r10 __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return result;
}

__asm__(".globl _start\n"
	"_start:\n"
	"	xor %ebp, %ebp\n"
	"	and $-16, %rsp\n"
	"	call run\n");

#elif defined(__aarch64__)

#define SYS_rt_sigprocmask 135
#define SYS_rt_sigtimedwait 137
#define SYS_wait4 260
#define SYS_exit_group 94

static long call4(long number, word a, word b, word c, word d)
{
	register long x8 __asm__("x8") = number;
	register word x0 __asm__("x0") = a;
	register word x1 __asm__("x1") = b;
	register word x2 __asm__("x2") = c;
	register word x3 __asm__("x3") = d;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3)
			 : "memory");
	return (long)x0;
}

__asm__(".globl _start\n"
	"_start:\n"
	"	mov x29, #0\n"
	"	bl run\n");

#else
#error "pause knows x86_64 and aarch64"
#endif

#define SIGINT 2
#define SIGTERM 15
#define SIGCHLD 17
#define SIG_BLOCK 0
#define WNOHANG 1
#define BIT(signal) (1UL << ((signal)-1))

__attribute__((noreturn, used)) void run(void)
{
	word set = BIT(SIGINT) | BIT(SIGTERM) | BIT(SIGCHLD);

	call4(SYS_rt_sigprocmask, SIG_BLOCK, (word)&set, 0, sizeof set);
	for (;;) {
		long signal = call4(SYS_rt_sigtimedwait, (word)&set, 0, 0, sizeof set);

		if (signal == SIGINT || signal == SIGTERM)
			break;
		if (signal == SIGCHLD)
			while (call4(SYS_wait4, (word)-1, 0, WNOHANG, 0) > 0)
				;
	}
	for (;;)
		call4(SYS_exit_group, 0, 0, 0, 0);
}
