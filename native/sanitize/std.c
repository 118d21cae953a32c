/* What ThreadSanitizer cannot see of Rust's standard library, which is not instrumented: the linker
 * wraps the library's functions with these (`--wrap`), which report how each of them orders memory
 * accesses. Without them everything behind a contended Mutex looks like a race. The names are the
 * compiler's own, which native/sanitize/run looks up. */
#include <stdbool.h>
#include <stdint.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);

#define QUOTED(symbol) #symbol
#define TEXT(symbol) QUOTED(symbol)

#define AROUND(result, name, symbol, parameters)                 \
  result real_##name parameters __asm__("__real_" TEXT(symbol)); \
  result name parameters __asm__("__wrap_" TEXT(symbol));        \
  result name parameters

/* The case in which the lock was taken: code inlined in our crates sees the other cases. */
AROUND(void, lock, LOCK, (void *mutex)) {
  real_lock(mutex);
  __tsan_acquire(mutex);
}

AROUND(void, read, READ, (void *lock)) {
  real_read(lock);
  __tsan_acquire(lock);
}

AROUND(void, write, WRITE, (void *lock)) {
  real_write(lock);
  __tsan_acquire(lock);
}

AROUND(void, wait, WAIT, (void *condition, void *mutex)) {
  __tsan_release(mutex);
  real_wait(condition, mutex);
  __tsan_acquire(mutex);
}

AROUND(bool, wait_timeout, WAIT_TIMEOUT,
       (void *condition, void *mutex, uint64_t seconds, uint32_t nanoseconds)) {
  __tsan_release(mutex);
  const bool woken = real_wait_timeout(condition, mutex, seconds, nanoseconds);
  __tsan_acquire(mutex);
  return woken;
}

AROUND(bool, meet, BARRIER, (void *barrier)) {
  __tsan_release(barrier);
  const bool leader = real_meet(barrier);
  __tsan_acquire(barrier);
  return leader;
}

AROUND(void, once, ONCE, (void *once, bool poisoned, void *closure, void *calls, void *caller)) {
  real_once(once, poisoned, closure, calls, caller);
  __tsan_acquire(once);
  __tsan_release(once);
}

/* A thread of a scope ends: the scope's number of threads is one of the first two words. */
AROUND(void, leave, SCOPE, (char *scope, bool panicked)) {
  __tsan_release(scope);
  __tsan_release(scope + 8);
  real_leave(scope, panicked);
}

/* Arc: the last owner has a fence between its subtraction and its access to the data, and
 * ThreadSanitizer does not know fences. Hence a subtraction that releases also acquires. */
#define AROUND_SUBTRACTION(bits)                                                               \
  uint##bits##_t __real___tsan_atomic##bits##_fetch_sub(volatile void *, uint##bits##_t, int); \
  uint##bits##_t __wrap___tsan_atomic##bits##_fetch_sub(volatile void *at, uint##bits##_t by,  \
                                                        int order) {                           \
    return __real___tsan_atomic##bits##_fetch_sub(                                             \
        at, by, order == __ATOMIC_RELEASE ? __ATOMIC_ACQ_REL : order);                         \
  }

AROUND_SUBTRACTION(32)
AROUND_SUBTRACTION(64)
