/* The Kafka adapter without a broker: settings are checked, and every client can be closed at once in any state. */
#include "prod/kafka.h"
#include "tests/check.h"

#define NOBODY "127.0.0.1:1" /* nobody listens there */

static enum sf_status made_with(const char *name, const char *value, struct sf_error *error)
{
    struct sf_prod_kafka_setting settings[] = {{"bootstrap.servers", NOBODY}, {name, value}};
    struct sf_prod_kafka_config config = {.settings = settings, .setting_count = 2};
    struct sf_prod_kafka *kafka;
    enum sf_status status = sf_prod_kafka_new(&config, &kafka, error);
    if (status == SF_OK) CHECK(sf_prod_kafka_destroy(kafka));
    return status;
}

static void bad_setting_is_refused_by_name(void **state)
{
    (void)state;
    struct sf_error error;
    CHECK_EQ(made_with("linger.ms", "20", &error), SF_OK);
    CHECK_EQ(made_with("boostrap.servers", NOBODY, &error), SF_E_ARG);
    CHECK(strstr(error.text, "boostrap.servers: there is no such setting") != NULL);
    CHECK_EQ(made_with("linger.ms", "soon", &error), SF_E_ARG);
    CHECK(strstr(error.text, "linger.ms") != NULL);
    CHECK_EQ(made_with("isolation.level", "read_uncommitted", &error), SF_E_ARG);
    CHECK(strstr(error.text, "isolation.level: set by the engine itself") != NULL);
    CHECK_EQ(made_with("ssl.ca.location", "/nowhere/ca.pem", &error), SF_OK); /* not read: no connection uses it */
    CHECK_EQ(made_with("security.protocol", "SSL", &error), SF_OK);
}

static void settings_that_only_fail_together_are_refused_too(void **state)
{
    (void)state;
    struct sf_prod_kafka_setting settings[] = {
        {"bootstrap.servers", NOBODY}, {"security.protocol", "SSL"}, {"ssl.ca.location", "/nowhere/ca.pem"}};
    struct sf_prod_kafka_config config = {.settings = settings, .setting_count = 3};
    struct sf_prod_kafka *kafka;
    struct sf_error error;
    CHECK_EQ(sf_prod_kafka_new(&config, &kafka, &error), SF_E_ARG);
    CHECK(strstr(error.text, "kafka setting ssl.ca.location: /nowhere/ca.pem cannot be read: No such file") != NULL);
}

static struct sf_prod_kafka *kafka_alone(void)
{
    struct sf_prod_kafka_setting settings[] = {{"bootstrap.servers", NOBODY}};
    struct sf_prod_kafka_config config = {.settings = settings, .setting_count = 1};
    struct sf_prod_kafka *kafka;
    struct sf_error error;
    CHECK_EQ(sf_prod_kafka_new(&config, &kafka, &error), SF_OK);
    return kafka;
}

static void producer_closes_while_its_init_waits_for_a_broker(void **state)
{
    (void)state;
    struct sf_prod_kafka *kafka = kafka_alone();
    struct sf_producer_config config = {.transactional_id = "tx", .group = "g", .txn_timeout_ms = 60000,
                                        .queue_bytes_max = 1000, .record_bytes_max = 1000};
    struct sf_producer producer;
    struct sf_error error;
    CHECK_EQ(sf_kafka_producer_open(sf_prod_kafka_handle(kafka), &config, &producer, &error), SF_OK);
    sf_producer_init(producer, 1);
    sf_producer_close(producer);
    CHECK(sf_prod_kafka_destroy(kafka));
}

static void plain_producer_closes_with_records_and_a_flush_pending(void **state)
{
    (void)state;
    struct sf_prod_kafka *kafka = kafka_alone();
    struct sf_producer_config config = {.group = "g", .queue_bytes_max = 300, .record_bytes_max = 1000};
    struct sf_producer producer;
    struct sf_producer_event event;
    struct sf_error error;
    CHECK_EQ(sf_kafka_producer_open(sf_prod_kafka_handle(kafka), &config, &producer, &error), SF_OK);
    struct sf_tp tp = {sf_kafka_topic(sf_prod_kafka_handle(kafka), "t"), 0};
    struct sf_out outs[8] = {{.ts_ms = 1}};
    CHECK_EQ(sf_producer_write(producer, tp, outs, 8), 4); /* 64 bytes are counted for each; the fifth would be over */
    CHECK_EQ(sf_producer_write(producer, tp, outs, 1), 0);
    sf_producer_flush(producer, 1);
    CHECK_EQ(sf_producer_poll(producer, &event, 1), 0);
    sf_producer_close(producer);
    CHECK(sf_prod_kafka_destroy(kafka));
}

static void consumers_and_admin_close_with_everything_pending(void **state)
{
    (void)state;
    struct sf_prod_kafka *kafka = kafka_alone();
    struct sf_kafka handle = sf_prod_kafka_handle(kafka);
    struct sf_error error;
    struct sf_consumer_config config = {.group = "g", .purpose = "source", .batch_records_max = 10,
                                        .fetch_bytes_max = 1 << 20};
    struct sf_consumer unused, reader, member;
    struct sf_consumer_event event;
    CHECK_EQ(sf_kafka_consumer_open(handle, &config, &unused, &error), SF_OK);
    CHECK_EQ(sf_kafka_consumer_open(handle, &config, &reader, &error), SF_OK);
    struct sf_tp tp = {sf_kafka_topic(handle, "t"), 0};
    (void)sf_consumer_add(reader, tp, 5);
    (void)sf_consumer_poll(reader, &event, 1);
    CHECK(sf_consumer_seek(reader, tp, 7) > 0);
    const char *topics[] = {"w", NULL};
    config.subscribe = topics;
    CHECK_EQ(sf_kafka_consumer_open(handle, &config, &member, &error), SF_OK);
    CHECK_EQ(sf_consumer_poll(member, &event, 1), 0);
    CHECK_EQ(sf_consumer_token(member).id, 0);
    struct sf_admin admin;
    CHECK_EQ(sf_kafka_admin_open(handle, (struct sf_waker){0}, &admin, &error), SF_OK);
    sf_admin_describe(admin, 1, tp.topic);
    sf_admin_ends(admin, 2, SF_LOG_END, &tp, 1);
    sf_admin_committed(admin, 3, "g", &tp, 1);
    sf_consumer_close(unused);
    sf_consumer_close(reader);
    sf_consumer_close(member);
    sf_admin_close(admin);
    CHECK(sf_prod_kafka_destroy(kafka));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_setting_is_refused_by_name),
        cmocka_unit_test(settings_that_only_fail_together_are_refused_too),
        cmocka_unit_test(producer_closes_while_its_init_waits_for_a_broker),
        cmocka_unit_test(plain_producer_closes_with_records_and_a_flush_pending),
        cmocka_unit_test(consumers_and_admin_close_with_everything_pending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
