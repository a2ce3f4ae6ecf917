/*
 * Serde: record bytes to a value and back, as the Java clients' serialisers lay them out (enum sf_serde).
 *
 *     int64   8 bytes big-endian           double  8 bytes big-endian IEEE 754
 *     string  UTF-8                        json    UTF-8 JSON text            bytes  opaque, read as a string
 *
 * NULL bytes (a tombstone, a null key) read as SF_VALUE_NULL whatever the serde.
 *
 * Threading: pure functions.
 */
#ifndef SF_CORE_OPS_SERDE_H
#define SF_CORE_OPS_SERDE_H

#include "core/ops/json.h"
#include "core/ops/value.h"
#include "core/topo/topology.h"

/* The bytes of a record's key or value and how to read them; borrowed as long as what is read from them. */
struct sf_input_value {
    enum sf_serde serde;
    struct sf_slice bytes;
};

/* The whole value. False: a DESERIALIZATION fault (wrong length, not UTF-8, not JSON, a double that is not
 * finite). For bytes nothing is checked. */
bool sf_serde_read(const struct sf_input_value *input, struct sf_value *value_out, struct sf_fault *fault_out)
    SF_MUST_USE;

/* Only what a read would check (`validate: true`, M5). */
bool sf_serde_check(const struct sf_input_value *input, struct sf_fault *fault_out) SF_MUST_USE;

/*
 * Appends `value` as record bytes; *is_null_out: it is the Kafka null and nothing was appended.
 *
 *   serde          takes                                   null, missing
 *   json           anything                                JSON `null`
 *   string, bytes  what can be a key (sf_value_key)        the Kafka null
 *   int64          an integer                              the Kafka null
 *   double         a number; an integer is rounded         the Kafka null
 *
 * False: a PROCESSING fault.
 */
bool sf_serde_write(enum sf_serde serde, const struct sf_value *value, struct sf_json_writer *writer,
                    bool *is_null_out, struct sf_fault *fault_out) SF_MUST_USE;

#endif
