/*
 * Client: the Kafka library made ready with an application's settings: the file's `kafka:` section, with the broker
 * that the command line names, or, where neither names one, the environment's KAFKA_BOOTSTRAP.
 *
 * Threading: one thread.
 */
#ifndef SF_PROD_CLIENT_H
#define SF_PROD_CLIENT_H

#include "prod/app_file.h"
#include "prod/kafka.h"
#include "prod/kafka_news.h"

/* The broker; NULL: nobody says. */
const char *sf_prod_client_broker(const struct sf_prod_app_file *file, const char *option);

/* Opens no connection. `broker` may be NULL (nothing can be asked then), `news` too. False: a setting is not right;
 * what is wrong with it is among the file's findings. */
bool sf_prod_client_new(struct sf_prod_app_file *file, const char *broker, struct sf_prod_kafka_news *news,
                        struct sf_prod_kafka **kafka_out);

#endif
