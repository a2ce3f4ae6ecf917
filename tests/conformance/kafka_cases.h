/* The cases of the Kafka conformance suite, by what they are about (kafka_cases_*.c). */
#ifndef SF_TESTS_CONFORMANCE_KAFKA_CASES_H
#define SF_TESTS_CONFORMANCE_KAFKA_CASES_H

#define KAFKA_CASES(X)                                                                             \
    X(topic_numbers_are_stable_and_names_come_back)                                                \
    X(create_is_repeatable_and_refuses_another_partition_count)                                    \
    X(describe_tells_settings_by_name_and_unknown_topics)                                          \
    X(watch_tells_the_count_and_each_change)                                                       \
    X(truncate_moves_the_log_start)                                                                \
    X(records_come_back_as_written)                                                                \
    X(read_committed_hides_open_and_aborted)                                                       \
    X(caught_up_is_told_behind_a_trailing_marker)                                                  \
    X(caught_up_stops_at_an_open_transaction)                                                      \
    X(reading_from_the_beginning_starts_at_the_log_start)                                          \
    X(out_of_range_is_told_with_both_ends_and_seek_recovers)                                       \
    X(seek_drops_what_was_read_before)                                                             \
    X(removed_partition_is_silent_and_can_be_added_again)                                          \
    X(pause_holds_one_partition_and_no_other)                                                      \
    X(batches_stay_valid_until_released)                                                           \
    X(partition_without_leader_is_told_and_recovers)                                               \
    X(writes_keep_their_order_under_room)                                                          \
    X(flush_makes_all_before_it_durable)                                                           \
    X(positions_equal_the_log)                                                                     \
    X(offsets_are_visible_only_after_commit)                                                       \
    X(offsets_of_an_aborted_transaction_are_not_committed)                                         \
    X(commit_with_an_undeliverable_record_is_refused)                                              \
    X(init_settles_and_fences)                                                                     \
    X(init_decides_an_end_that_was_asked_for)                                                      \
    X(close_in_every_state_returns_and_leaves_whole_transactions)                                  \
    X(transaction_timed_out_by_the_coordinator_is_lost)                                            \
    X(one_of_two_members_is_the_owner)                                                             \
    X(owner_that_leaves_is_followed)                                                               \
    X(static_member_takes_its_place_back)                                                          \
    X(later_holder_of_a_static_name_wins)                                                          \
    X(token_changes_when_a_member_joins_and_the_old_one_is_refused)                                \
    X(owner_is_confirmed_until_it_is_one_no_more)                                                  \
    X(former_owner_cannot_commit_before_the_new_one_has_opened_a_session)                          \
    X(former_owner_cannot_commit_after_the_new_one_has_opened_a_session)                           \
    X(offsets_outside_transactions_need_the_current_token)                                         \
    X(offsets_without_token_need_an_empty_group)

#define KAFKA_CASE_DECLARE(name) void name(void **state);
KAFKA_CASES(KAFKA_CASE_DECLARE)
#undef KAFKA_CASE_DECLARE

#endif
