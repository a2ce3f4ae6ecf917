/* What a producer tells: its event queue, and the memory that events point to. */
#include "sim/kafka_producer.h"

static void note_push(struct sfi_producer *producer, const struct sf_producer_event *event,
                      struct sf_position *positions)
{
    struct sfi_client *client = &producer->client;
    if (!sfi_client_is_live(client)) {
        sf_free(client->broker->alloc, positions, event->position_count * sizeof *positions);
        return;
    }
    struct sfi_producer_note *note = sf_malloc(client->broker->alloc, sizeof *note);
    *note = (struct sfi_producer_note){.event = *event, .positions = positions};
    note->event.positions = positions;
    bool was_empty = producer->note_head == NULL;
    if (was_empty)
        producer->note_head = note;
    else
        producer->note_tail->next = note;
    producer->note_tail = note;
    if (was_empty) sfi_client_wake(client);
}

void sfi_producer_note(struct sfi_producer *producer, const struct sf_producer_event *event)
{
    note_push(producer, event, NULL);
}

static bool position_before(const struct sf_position *a, const struct sf_position *b)
{
    if (a->tp.topic != b->tp.topic) return a->tp.topic < b->tp.topic;
    return a->tp.partition < b->tp.partition;
}

void sfi_producer_note_positions(struct sfi_producer *producer, const struct sf_producer_event *event)
{
    struct sf_producer_event full = *event;
    struct sf_position *positions = NULL;
    for (const struct sfi_outbox *outbox = producer->outboxes; outbox != NULL; outbox = outbox->next)
        if (outbox->is_tracked && outbox->is_written) full.position_count++;
    if (full.position_count > 0)
        positions = sf_malloc(producer->client.broker->alloc, full.position_count * sizeof *positions);
    uint32_t count = 0;
    for (struct sfi_outbox *outbox = producer->outboxes; outbox != NULL; outbox = outbox->next) {
        if (outbox->is_tracked && outbox->is_written) {
            struct sf_position position = {.tp = outbox->tp, .end = outbox->end};
            uint32_t at = count++;
            for (; at > 0 && position_before(&position, &positions[at - 1]); at--) positions[at] = positions[at - 1];
            positions[at] = position;
        }
        outbox->is_written = false;
    }
    note_push(producer, &full, positions);
}

static void note_free(struct sfi_producer *producer, struct sfi_producer_note *note)
{
    struct sf_alloc alloc = producer->client.broker->alloc;
    sf_free(alloc, note->positions, note->event.position_count * sizeof *note->positions);
    sf_free(alloc, note, sizeof *note);
}

static void polled_free(struct sfi_producer *producer)
{
    while (producer->polled != NULL) {
        struct sfi_producer_note *next = producer->polled->next;
        note_free(producer, producer->polled);
        producer->polled = next;
    }
}

uint32_t sfi_producer_poll(struct sfi_producer *producer, struct sf_producer_event *events_out, uint32_t cap)
{
    polled_free(producer);
    if (!sfi_client_hears(&producer->client)) return 0;
    uint32_t count = 0;
    while (count < cap && producer->note_head != NULL) {
        struct sfi_producer_note *note = producer->note_head;
        producer->note_head = note->next;
        events_out[count++] = note->event;
        note->next = producer->polled;
        producer->polled = note;
    }
    return count;
}

void sfi_producer_notes_free(struct sfi_producer *producer)
{
    polled_free(producer);
    while (producer->note_head != NULL) {
        struct sfi_producer_note *next = producer->note_head->next;
        note_free(producer, producer->note_head);
        producer->note_head = next;
    }
}
