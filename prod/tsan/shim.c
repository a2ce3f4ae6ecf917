/*
 * C11 threads over pthreads, for thread-sanitizer builds only.
 *
 * Debian's librdkafka is compiled against glibc's thrd_*, mtx_*, cnd_*, tss_* and call_once. The sanitizer's runtime
 * knows the pthread functions and not these, so a thread made by thrd_create has no state there and the first checked
 * access in it crashes. These definitions stand in the program itself, are found before libc's, and hand everything on
 * to what the sanitizer does know. Types and layouts are glibc's: mtx_t, cnd_t, tss_t and once_flag hold exactly what
 * the pthread types of the same size and alignment hold, which the asserts below check at compile time.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>

_Static_assert(sizeof(thrd_t) == sizeof(pthread_t), "thrd_t is a pthread_t");
_Static_assert(sizeof(mtx_t) >= sizeof(pthread_mutex_t), "mtx_t holds a pthread_mutex_t");
_Static_assert(_Alignof(mtx_t) >= _Alignof(pthread_mutex_t), "mtx_t is aligned for a pthread_mutex_t");
_Static_assert(sizeof(cnd_t) >= sizeof(pthread_cond_t), "cnd_t holds a pthread_cond_t");
_Static_assert(_Alignof(cnd_t) >= _Alignof(pthread_cond_t), "cnd_t is aligned for a pthread_cond_t");
_Static_assert(sizeof(tss_t) == sizeof(pthread_key_t), "tss_t is a pthread_key_t");
_Static_assert(sizeof(once_flag) == sizeof(pthread_once_t), "once_flag is a pthread_once_t");

struct start {
    thrd_start_t run;
    void *arg;
};

static int answer(int error)
{
    switch (error) {
    case 0: return thrd_success;
    case EBUSY: return thrd_busy;
    case ENOMEM: return thrd_nomem;
    case ETIMEDOUT: return thrd_timedout;
    default: return thrd_error;
    }
}

static void *start_thread(void *ptr)
{
    struct start start = *(struct start *)ptr;
    free(ptr);
    return (void *)(intptr_t)start.run(start.arg);
}

int thrd_create(thrd_t *thread, thrd_start_t run, void *arg)
{
    struct start *start = malloc(sizeof *start);
    if (start == NULL) return thrd_nomem;
    *start = (struct start){.run = run, .arg = arg};
    int error = pthread_create((pthread_t *)thread, NULL, start_thread, start);
    if (error != 0) free(start);
    return answer(error);
}

int thrd_join(thrd_t thread, int *result)
{
    void *value = NULL;
    int error = pthread_join((pthread_t)thread, &value);
    if (error == 0 && result != NULL) *result = (int)(intptr_t)value;
    return answer(error);
}

int thrd_detach(thrd_t thread)
{
    return answer(pthread_detach((pthread_t)thread));
}

_Noreturn void thrd_exit(int result)
{
    pthread_exit((void *)(intptr_t)result);
}

thrd_t thrd_current(void)
{
    return (thrd_t)pthread_self();
}

int thrd_equal(thrd_t a, thrd_t b)
{
    return pthread_equal((pthread_t)a, (pthread_t)b);
}

void thrd_yield(void)
{
    sched_yield();
}

int mtx_init(mtx_t *mutex, int type)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    if ((type & mtx_recursive) != 0) pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    int error = pthread_mutex_init((pthread_mutex_t *)mutex, &attr);
    pthread_mutexattr_destroy(&attr);
    return answer(error);
}

int mtx_lock(mtx_t *mutex)
{
    return answer(pthread_mutex_lock((pthread_mutex_t *)mutex));
}

int mtx_trylock(mtx_t *mutex)
{
    return answer(pthread_mutex_trylock((pthread_mutex_t *)mutex));
}

int mtx_timedlock(mtx_t *restrict mutex, const struct timespec *restrict until)
{
    return answer(pthread_mutex_timedlock((pthread_mutex_t *)mutex, until));
}

int mtx_unlock(mtx_t *mutex)
{
    return answer(pthread_mutex_unlock((pthread_mutex_t *)mutex));
}

void mtx_destroy(mtx_t *mutex)
{
    pthread_mutex_destroy((pthread_mutex_t *)mutex);
}

int cnd_init(cnd_t *cond)
{
    return answer(pthread_cond_init((pthread_cond_t *)cond, NULL));
}

int cnd_signal(cnd_t *cond)
{
    return answer(pthread_cond_signal((pthread_cond_t *)cond));
}

int cnd_broadcast(cnd_t *cond)
{
    return answer(pthread_cond_broadcast((pthread_cond_t *)cond));
}

int cnd_wait(cnd_t *cond, mtx_t *mutex)
{
    return answer(pthread_cond_wait((pthread_cond_t *)cond, (pthread_mutex_t *)mutex));
}

int cnd_timedwait(cnd_t *restrict cond, mtx_t *restrict mutex, const struct timespec *restrict until)
{
    return answer(pthread_cond_timedwait((pthread_cond_t *)cond, (pthread_mutex_t *)mutex, until));
}

void cnd_destroy(cnd_t *cond)
{
    pthread_cond_destroy((pthread_cond_t *)cond);
}

int tss_create(tss_t *key, tss_dtor_t dtor)
{
    return answer(pthread_key_create((pthread_key_t *)key, dtor));
}

void *tss_get(tss_t key)
{
    return pthread_getspecific((pthread_key_t)key);
}

int tss_set(tss_t key, void *value)
{
    return answer(pthread_setspecific((pthread_key_t)key, value));
}

void tss_delete(tss_t key)
{
    pthread_key_delete((pthread_key_t)key);
}

void call_once(once_flag *flag, void (*run)(void))
{
    pthread_once((pthread_once_t *)flag, run);
}

/*
 * The two libraries are not instrumented: what their threads hand to each other by atomics of their own looks like a
 * race wherever they free, compare or destroy by functions that the sanitizer does intercept.
 * A report counts as theirs if a frame of theirs stands in it; races between our own threads have none.
 */
const char *__tsan_default_suppressions(void);

const char *__tsan_default_suppressions(void)
{
    return "race:rocksdb::\nrace:librdkafka.so\n";
}
