/*
 * sfprod run: one instance, from its file to its exit status.
 *
 * The main thread sleeps in sigtimedwait. What happens elsewhere (the engine has ended, the sources' ends are reached,
 * standard output is gone) sets a flag and sends SIGUSR1 to it, so that there is one place where things are decided.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "prod/ask.h"
#include "prod/client.h"
#include "prod/cmd.h"
#include "prod/host.h"
#include "prod/os.h"
#include "prod/printer.h"
#include "prod/state_dir.h"
#include "prod/width.h"

#define STATE_DIR_BYTES 1024u
#define LOOK_MS 500 /* the main thread looks at least so often whether it has stood still */

struct run {
    const struct sf_prod_options *options;
    struct sf_alloc alloc;
    struct sf_prod_log log;
    struct sf_prod_app_file file;
    struct sf_prod_kafka_news news;
    struct sf_prod_kafka *kafka;       /* the tasks' */
    struct sf_prod_kafka *print_kafka; /* the printer's and the questions' before the start */
    struct sf_prod_printer *printer;
    struct sf_prod_host *host;
    const char *broker;
    char state_dir[STATE_DIR_BYTES];
    struct sf_tp *tps; /* --until-end: all source partitions, and where they end */
    int64_t *ends;
    uint32_t end_count;
    pthread_t main;
    sigset_t signals;
    bool is_finish_asked;
    int64_t finish_deadline_ms;
    int64_t looked_ms;  /* when the main thread last ran */
    int64_t thawed_ms;  /* when it did again, having stood still for longer than a session (B14); 0: never */
    _Atomic bool is_output_gone;
};

static void say(struct run *run, enum sf_prod_level level, const char *event, const char *message)
{
    sf_prod_log_say(&run->log, level, event, message, NULL, 0);
}

/* ------------------------------------------------------------------ news and signals */

static void wake_main(void *ctx)
{
    struct run *run = ctx;
    (void)pthread_kill(run->main, SIGUSR1);
}

static void on_answered(void *ctx)
{
    struct run *run = ctx;
    sf_prod_kafka_news_answered(&run->news);
}

static void on_output_gone(void *ctx)
{
    struct run *run = ctx;
    atomic_store(&run->is_output_gone, true);
    wake_main(run);
}

/* Blocked in every thread, so that they wait for the main one to take them. */
static void block_signals(struct run *run)
{
    run->main = pthread_self();
    (void)sigemptyset(&run->signals);
    (void)sigaddset(&run->signals, SIGTERM);
    (void)sigaddset(&run->signals, SIGINT);
    (void)sigaddset(&run->signals, SIGUSR1);
    (void)pthread_sigmask(SIG_BLOCK, &run->signals, NULL);
    struct sigaction ignore;
    memset(&ignore, 0, sizeof ignore);
    ignore.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &ignore, NULL);
}

static bool is_stop_pending(void *ctx)
{
    sigset_t pending;
    (void)ctx;
    if (sigpending(&pending) != 0) return false;
    return sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1;
}

/* The next signal, 0 after `ms` without one. */
static int next_signal(struct run *run, int64_t ms)
{
    struct timespec wait = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    int number = sigtimedwait(&run->signals, NULL, &wait);
    return number > 0 ? number : 0;
}

/* ------------------------------------------------------------------ before the start: where do the logs end? */

static enum sf_status list_sources(struct run *run, struct sf_prod_ask *ask)
{
    const struct sf_topology *topology = run->file.topology;
    struct sf_kafka kafka = sf_prod_kafka_handle(run->kafka);
    for (uint32_t i = 0; i < topology->source_count; i++) {
        struct sf_prod_topic topic;
        uint32_t number = sf_kafka_topic(kafka, topology->sources[i].topic);
        enum sf_status status = sf_prod_ask_topic(ask, number, SF_PROD_ASK_FOREVER, &topic);
        if (status == SF_E_UNKNOWN_TOPIC) continue; /* the engine says so, with what to do */
        if (status != SF_OK) return status;
        uint32_t count = run->end_count + (uint32_t)topic.partition_count;
        run->tps = sf_regrow(run->alloc, run->tps, (run->end_count + 1) * sizeof *run->tps,
                             run->end_count * sizeof *run->tps, (count + 1) * sizeof *run->tps);
        for (int32_t p = 0; p < topic.partition_count; p++)
            run->tps[run->end_count++] = (struct sf_tp){.topic = number, .partition = p};
    }
    run->ends = sf_calloc(run->alloc, run->end_count + 1, sizeof *run->ends);
    return sf_prod_ask_ends(ask, SF_LOG_STABLE_END, run->tps, run->end_count, SF_PROD_ASK_FOREVER, run->ends);
}

static enum sf_prod_exit give_up(struct run *run, const struct sf_error *error)
{
    if (error->status == SF_E_CLOSED) {
        say(run, SF_PROD_INFO, "stopped", "stopped before anything was done");
        return SF_PROD_EXIT_OK;
    }
    say(run, SF_PROD_ERROR, "gave-up", error->text);
    return SF_PROD_EXIT_GAVE_UP;
}

/* SF_OK: go on. */
static enum sf_status ask_ends(struct run *run, struct sf_error *error)
{
    struct sf_prod_ask ask;
    if (!run->options->is_until_end) return SF_OK;
    run->tps = sf_malloc(run->alloc, sizeof *run->tps);
    enum sf_status status = sf_prod_ask_open(&ask, sf_prod_kafka_handle(run->kafka), error);
    if (status == SF_OK) {
        ask.is_cancelled = is_stop_pending;
        status = list_sources(run, &ask);
        sf_prod_ask_close(&ask);
        if (status != SF_OK)
            (void)snprintf(error->text, sizeof error->text, "cannot read where the sources' topics end: %s",
                           sf_status_text(status));
    }
    error->status = status;
    return status;
}

static enum sf_status start_printer(struct run *run, struct sf_error *error)
{
    if (!run->options->is_print) return SF_OK;
    run->printer = sf_prod_printer_new(
        &(struct sf_prod_printer_config){.topology = run->file.topology,
                                         .alloc = run->alloc,
                                         .kafka = sf_prod_kafka_handle(run->print_kafka),
                                         .log = &run->log,
                                         .out = stdout,
                                         .is_cancelled = is_stop_pending,
                                         .broken = on_output_gone,
                                         .ctx = run},
        error);
    return run->printer != NULL ? SF_OK : error->status;
}

/* ------------------------------------------------------------------ until the end */

static void ask_finish(struct run *run, const char *why)
{
    /* One time-out for the final barrier, one for a fall-back's stop (B9). */
    int64_t patience_ms = 2 * run->file.topology->settings.barrier_timeout_ms;
    if (run->is_finish_asked) return;
    run->is_finish_asked = true;
    run->finish_deadline_ms = sfi_os_now_ms() + patience_ms;
    say(run, SF_PROD_INFO, "stopping", why);
    sf_prod_host_finish(run->host);
}

/* A process that stood still for longer than its session has to say so at its end, whatever else is away. */
static void watch_freeze(struct run *run)
{
    int64_t now = sfi_os_now_ms();
    if (now - run->looked_ms > run->file.topology->settings.session_timeout_ms) run->thawed_ms = now;
    run->looked_ms = now;
}

/* Lately, that is: what a freeze costs shows within a session. */
static bool was_frozen(const struct run *run)
{
    int64_t session_ms = run->file.topology->settings.session_timeout_ms;
    return run->thawed_ms != 0 && sfi_os_now_ms() - run->thawed_ms < 2 * session_ms;
}

/* Waits for the engine's end; SF_PROD_EXIT_OK when it came. */
static enum sf_prod_exit wait_for_end(struct run *run)
{
    while (!sf_prod_host_has_ended(run->host)) {
        int64_t left = run->is_finish_asked ? run->finish_deadline_ms - sfi_os_now_ms() : 60000;
        if (left <= 0) {
            say(run, SF_PROD_ERROR, "stuck", "the graceful stop takes too long; the next start settles what is left");
            return SF_PROD_EXIT_STUCK;
        }
        run->looked_ms = sfi_os_now_ms();
        int number = next_signal(run, left < LOOK_MS ? left : LOOK_MS);
        watch_freeze(run);
        bool is_stop = number == SIGTERM || number == SIGINT;
        if (is_stop && run->is_finish_asked) {
            say(run, SF_PROD_WARN, "stopped-at-once", "told again to stop; the next start settles what is left");
            return SF_PROD_EXIT_STUCK;
        }
        if (is_stop) ask_finish(run, "told to stop; a final barrier flushes what is due");
        if (atomic_load(&run->is_output_gone)) ask_finish(run, "standard output takes no more results");
        if (sf_prod_host_has_reached_ends(run->host)) ask_finish(run, "every source is read to where it ended");
    }
    return sf_prod_host_end(run->host) == SF_END_STUCK ? SF_PROD_EXIT_STUCK : SF_PROD_EXIT_OK;
}

static void print_seconds(const char *name, int64_t us)
{
    if (us == 0)
        printf("\"%s\": null", name);
    else
        printf("\"%s\": %lld.%06lld", name, (long long)(us / 1000000), (long long)(us % 1000000));
}

static enum sf_prod_exit judge_stop(struct run *run, const struct sf_prod_outcome *outcome)
{
    if (atomic_load(&run->is_output_gone)) {
        say(run, SF_PROD_ERROR, "gave-up", "standard output was closed");
        return SF_PROD_EXIT_GAVE_UP;
    }
    if (!sf_prod_host_has_reached_ends(run->host)) return SF_PROD_EXIT_OK;
    if (!outcome->is_at_ends) {
        say(run, SF_PROD_ERROR, "gave-up", "it fell back while it stopped: not everything is done; run it again");
        return SF_PROD_EXIT_GAVE_UP;
    }
    printf("{");
    print_seconds("first", outcome->first_us);
    printf(", ");
    print_seconds("done", outcome->committed_us);
    printf("}\n");
    return SF_PROD_EXIT_OK;
}

static enum sf_prod_exit judge(struct run *run, const struct sf_prod_outcome *outcome)
{
    switch (outcome->end) {
    case SF_END_STOPPED: return judge_stop(run, outcome);
    case SF_END_FENCED: say(run, SF_PROD_ERROR, "fenced", outcome->error.text); return SF_PROD_EXIT_FENCED;
    case SF_END_STUCK: return SF_PROD_EXIT_STUCK;
    case SF_END_FAILED: break;
    }
    const struct sf_prod_field field = {.name = "status", .text = sf_status_name(outcome->error.status)};
    sf_prod_log_say(&run->log, SF_PROD_ERROR, "gave-up", outcome->error.text, &field, 1);
    if (outcome->error.status == SF_E_STATE) return SF_PROD_EXIT_INTERNAL;
    return outcome->error.status == SF_E_ARG ? SF_PROD_EXIT_BAD_INPUT : SF_PROD_EXIT_GAVE_UP;
}

/* Never returns where a task hangs or somebody is in a hurry: nothing can be taken down in order then. */
static void leave_at_once(struct run *run, enum sf_prod_exit status)
{
    if (sf_prod_host_has_ended(run->host) && sf_prod_host_end(run->host) == SF_END_STUCK)
        say(run, SF_PROD_ERROR, "stuck", "a task did not stop in time; the next start settles what is left");
    _exit((int)status);
}

/*
 * Restart in place: a new engine in this process, which joins the group anew and waits its turn. After a hand-over that
 * the group asked for; and where the membership ran out because there was no broker to keep it with, or one that said
 * nothing. What else takes the application away ends the process (B14): it was frozen, or another instance has it.
 */
static bool is_to_start_again(struct run *run, const struct sf_prod_outcome *outcome)
{
    if (run->is_finish_asked || atomic_load(&run->is_output_gone)) return false;
    if (outcome->end == SF_END_STOPPED) {
        say(run, SF_PROD_INFO, "restart", "the group gave the application to another instance; waiting as a standby");
        return true;
    }
    bool was_silent = sf_prod_kafka_news_take_silence(&run->news) || atomic_load(&run->news.is_away);
    if (outcome->end != SF_END_FENCED || was_frozen(run) || !was_silent) return false;
    say(run, SF_PROD_WARN, "restart", "the broker was away for longer than the session; joining the group anew");
    return true;
}

static enum sf_prod_exit run_once(struct run *run, struct sf_prod_outcome *outcome)
{
    struct sf_error error = {0};
    run->host = sf_prod_host_new(&(struct sf_prod_host_config){
        .file = &run->file,
        .alloc = run->alloc,
        .log = &run->log,
        .kafka = sf_prod_kafka_handle(run->kafka),
        .state_dir = run->state_dir[0] != '\0' ? run->state_dir : NULL,
        .broker = run->broker,
        .lanes = sf_prod_width_lanes(run->file.topology),
        .workers = sf_prod_width_workers(run->file.plan, run->options->workers),
        .tps = run->tps,
        .ends = run->ends,
        .end_count = run->end_count,
        .news = wake_main,
        .answered = on_answered,
        .ctx = run});
    if (sf_prod_host_start(run->host, &error) != SF_OK) return give_up(run, &error);
    enum sf_prod_exit status = wait_for_end(run);
    if (status != SF_PROD_EXIT_OK) leave_at_once(run, status);
    sf_prod_host_stop(run->host, outcome);
    return SF_PROD_EXIT_OK;
}

static enum sf_prod_exit run_engine(struct run *run)
{
    struct sf_error error = {0};
    struct sf_prod_outcome outcome;
    if (ask_ends(run, &error) != SF_OK || start_printer(run, &error) != SF_OK) return give_up(run, &error);
    enum sf_prod_exit status = run_once(run, &outcome);
    while (status == SF_PROD_EXIT_OK && is_to_start_again(run, &outcome)) {
        sf_prod_host_destroy(run->host);
        run->host = NULL;
        status = run_once(run, &outcome);
    }
    if (status != SF_PROD_EXIT_OK) return status;
    if (run->printer != NULL) sf_prod_printer_finish(run->printer);
    return judge(run, &outcome);
}

/* ------------------------------------------------------------------ making and unmaking */

static bool make_clients(struct run *run)
{
    if (!sf_prod_client_new(&run->file, run->broker, &run->news, &run->kafka)) return false;
    return !run->options->is_print || sf_prod_client_new(&run->file, run->broker, &run->news, &run->print_kafka);
}

static enum sf_prod_exit prepare(struct run *run)
{
    bool is_good = sf_prod_app_file_load(&run->file, run->options->path, run->alloc, stderr);
    if (is_good) run->broker = sf_prod_client_broker(&run->file, run->options->bootstrap);
    if (run->broker != NULL) is_good = make_clients(run);
    sf_prod_app_file_tell(&run->file, stderr);
    if (!is_good) return SF_PROD_EXIT_BAD_INPUT;
    if (run->broker == NULL) {
        (void)fprintf(stderr, "%s: error: which broker? Say it with --bootstrap, the file's kafka: bootstrap.servers, "
                              "or $KAFKA_BOOTSTRAP\n", run->file.path);
        return SF_PROD_EXIT_BAD_INPUT;
    }
    if (!sf_prod_state_dir_find(run->file.topology, run->options->state_dir, run->state_dir, sizeof run->state_dir))
        run->state_dir[0] = '\0';
    else
        sf_prod_state_dir_make_parents(run->state_dir);
    return SF_PROD_EXIT_OK;
}

/* False: something of the Kafka library's is still at work and will be until the process ends. */
static bool unmake(struct run *run)
{
    bool is_all_ended = true;
    sf_prod_host_destroy(run->host);
    sf_prod_printer_destroy(run->printer);
    if (run->kafka != NULL) is_all_ended = sf_prod_kafka_destroy(run->kafka);
    if (run->print_kafka != NULL) is_all_ended = sf_prod_kafka_destroy(run->print_kafka) && is_all_ended;
    sf_free(run->alloc, run->tps, (run->end_count + 1) * sizeof *run->tps);
    if (run->ends != NULL) sf_cfree(run->alloc, run->ends, run->end_count + 1, sizeof *run->ends);
    sf_prod_app_file_deinit(&run->file);
    sf_prod_log_deinit(&run->log);
    return is_all_ended;
}

enum sf_prod_exit sf_prod_cmd_run(const struct sf_prod_options *options)
{
    struct run run = {.options = options, .alloc = sf_alloc_libc()};
    block_signals(&run);
    sf_prod_log_init(&run.log, STDERR_FILENO, options->is_json, options->level);
    sf_prod_kafka_news_init(&run.news, &run.log);
    enum sf_prod_exit status = prepare(&run);
    if (status == SF_PROD_EXIT_OK) status = run_engine(&run);
    if (!unmake(&run)) {
        (void)fflush(stdout);
        _exit((int)status);
    }
    return status;
}
