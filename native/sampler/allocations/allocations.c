/* Counts what a process allocates: preloaded before the C library, in trials that are for nothing
 * else.
 *
 * Everything in a worker ends here, whatever its language: operator new and Rust's allocator call
 * malloc. The real work is done by glibc's own names (__libc_malloc …), so that nothing has to be
 * looked up, which could itself allocate.
 *
 * The harness finds the two functions at the end by name and reads the counts at both ends of the
 * window. What a thread does while it holds itself uncounted is left out: the harness's reports are
 * not a cost of a middleware.
 *
 * Compiled by ../build.rs, without any header, by the compiler that Rust links with anyway. */

typedef __SIZE_TYPE__ size_t;
typedef unsigned long long u64;

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *memory);

#define EXPORTED __attribute__((visibility("default")))
#define INVALID 22   /* EINVAL */
#define NO_MEMORY 12 /* ENOMEM */

/* These are next to each other but changed by every thread: trials with this library are not
 * timed. */
static u64 allocations, allocated_bytes, frees;

/* Initial-exec: the dynamic model would allocate a thread's variables on first use, within these
 * functions. */
static __thread int uncounted __attribute__((tls_model("initial-exec")));

static void count(size_t bytes) {
  if (uncounted > 0) return;
  __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&allocated_bytes, bytes, __ATOMIC_RELAXED);
}

static void *counted(void *memory, size_t bytes) {
  if (memory) count(bytes);
  return memory;
}

EXPORTED void *malloc(size_t bytes) { return counted(__libc_malloc(bytes), bytes); }

EXPORTED void *calloc(size_t number, size_t bytes) {
  return counted(__libc_calloc(number, bytes), number * bytes);
}

/* One allocation of the new size, whether the block moved or not: a program that keeps the block in
 * place may not request one either. */
EXPORTED void *realloc(void *old, size_t bytes) {
  void *memory = __libc_realloc(old, bytes);
  if (bytes || memory) count(bytes);
  return memory;
}

/* The same as in glibc, by our realloc. */
EXPORTED void *reallocarray(void *old, size_t number, size_t bytes) {
  size_t all;
  if (__builtin_mul_overflow(number, bytes, &all)) return 0;
  return realloc(old, all);
}

EXPORTED void *memalign(size_t alignment, size_t bytes) {
  return counted(__libc_memalign(alignment, bytes), bytes);
}

EXPORTED void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }

EXPORTED int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0)
    return INVALID;
  void *found = memalign(alignment, bytes);
  if (!found) return NO_MEMORY;
  *memory = found;
  return 0;
}

EXPORTED void free(void *memory) {
  if (memory && uncounted <= 0) __atomic_fetch_add(&frees, 1, __ATOMIC_RELAXED);
  __libc_free(memory);
}

/* Writes allocations, requested bytes and frees of the whole process, since it began. */
EXPORTED void rmwbench_allocations(u64 *counts) {
  counts[0] = __atomic_load_n(&allocations, __ATOMIC_RELAXED);
  counts[1] = __atomic_load_n(&allocated_bytes, __ATOMIC_RELAXED);
  counts[2] = __atomic_load_n(&frees, __ATOMIC_RELAXED);
}

/* +1: from now on this thread's allocations are not counted; -1: they are again. */
EXPORTED void rmwbench_allocations_uncounted(int by) { uncounted += by; }
