"""Classes, methods and parameters of PyFlink 2.3, as its documentation lists them."""

# Module, then class: its methods with their parameters, and the names of its attributes.
API = {
    "common": {
        "TypeInformation": ("from_internal_type(obj); need_conversion(); to_internal_type(obj)"),
        "Types": (
            "BASIC_ARRAY(element_type); BIG_DEC(); BIG_INT(); BOOLEAN(); BYTE(); CHAR(); "
            "DOUBLE(); FLOAT(); INSTANT(); INT(); LIST(element_type_info); LONG(); "
            "MAP(key_type_info, value_type_info); OBJECT_ARRAY(element_type); "
            "PICKLED_BYTE_ARRAY(); PRIMITIVE_ARRAY(element_type); ROW(field_types); "
            "ROW_NAMED(field_names, field_types); SHORT(); SQL_DATE(); SQL_TIME(); "
            "SQL_TIMESTAMP(); STRING(); TUPLE(field_types)"
        ),
        "Row": (
            "__init__(*args, **kwargs); as_dict(recursive); get_fields_by_names(names); "
            "get_row_kind(); of_kind(row_kind, *args, **kwargs); "
            "set_field_names(field_names); set_row_kind(row_kind)"
        ),
        "RowKind": ("DELETE; INSERT; UPDATE_AFTER; UPDATE_BEFORE"),
        "WatermarkStrategy": (
            "for_bounded_out_of_orderness(max_out_of_orderness); "
            "for_monotonous_timestamps(); no_watermarks(); with_idleness(idle_timeout); "
            "with_timestamp_assigner(timestamp_assigner); "
            "with_watermark_alignment(watermark_group, max_allowed_watermark_drift, "
            "update_interval)"
        ),
        "Duration": (
            "of_days(days); of_hours(hours); of_millis(millis); of_minutes(minutes); "
            "of_nanos(nanos); of_seconds(seconds)"
        ),
        "Instant": ("__init__(seconds, nanos); of_epoch_milli(epoch_milli); to_epoch_milli()"),
        "Time": (
            "__init__(milliseconds); days(days); hours(hours); milliseconds(milliseconds); "
            "minutes(minutes); seconds(seconds); to_milliseconds()"
        ),
    },
    "common.watermark_strategy": {
        "TimestampAssigner": ("extract_timestamp(value, record_timestamp)"),
    },
    "datastream.functions": {
        "RuntimeContext": (
            "get_attempt_number(); get_index_of_this_subtask(); get_job_parameter(key, "
            "default_value); get_max_number_of_parallel_subtasks(); get_metrics_group(); "
            "get_number_of_parallel_subtasks(); get_task_name(); "
            "get_task_name_with_subtasks()"
        ),
        "MapFunction": ("map(value)"),
        "CoMapFunction": ("map1(value); map2(value)"),
        "FlatMapFunction": ("flat_map(value)"),
        "CoFlatMapFunction": ("flat_map1(value); flat_map2(value)"),
        "ReduceFunction": ("reduce(value1, value2)"),
        "AggregateFunction": (
            "add(value, accumulator); create_accumulator(); get_result(accumulator); "
            "merge(acc_a, acc_b)"
        ),
        "KeySelector": ("get_key(value)"),
        "FilterFunction": ("filter(value)"),
        "ProcessFunction": (
            "process_element(value, ctx); Context.timer_service; Context.timestamp"
        ),
        "CoProcessFunction": (
            "process_element1(value, ctx); process_element2(value, ctx); "
            "Context.timer_service; Context.timestamp"
        ),
        "KeyedProcessFunction": (
            "on_timer(timestamp, ctx); process_element(value, ctx); "
            "Context.get_current_key; Context.timer_service; Context.timestamp; "
            "OnTimerContext.time_domain"
        ),
        "KeyedCoProcessFunction": (
            "on_timer(timestamp, ctx); process_element1(value, ctx); "
            "process_element2(value, ctx); Context.get_current_key; Context.timer_service; "
            "Context.timestamp; OnTimerContext.time_domain"
        ),
        "WindowFunction": ("apply(key, window, inputs)"),
        "AllWindowFunction": ("apply(window, inputs)"),
        "ProcessWindowFunction": (
            "clear(context); process(key, context, elements); "
            "Context.current_processing_time; Context.current_watermark; "
            "Context.global_state; Context.window; Context.window_state"
        ),
        "ProcessAllWindowFunction": (
            "clear(context); process(context, elements); Context.global_state; "
            "Context.window; Context.window_state"
        ),
        "BaseBroadcastProcessFunction": (
            "BaseContext.current_processing_time; BaseContext.current_watermark; "
            "BaseContext.timestamp; Context.get_broadcast_state; "
            "ReadOnlyContext.get_broadcast_state"
        ),
        "BroadcastProcessFunction": (
            "process_broadcast_element(value, ctx); process_element(value, ctx); Context; "
            "ReadOnlyContext"
        ),
        "KeyedBroadcastProcessFunction": (
            "on_timer(timestamp, ctx); process_broadcast_element(value, ctx); "
            "process_element(value, ctx); OnTimerContext.get_current_key; "
            "OnTimerContext.time_domain; ReadOnlyContext.get_current_key; "
            "ReadOnlyContext.timer_service; Context"
        ),
        "AsyncFunction": ("async_invoke(value); timeout(value)"),
        "AsyncRetryPredicate": ("exception_predicate(); result_predicate()"),
        "AsyncRetryStrategy": (
            "can_retry(current_attempts); exponential_backoff(max_attempts, initial_delay, "
            "max_retry_delay, multiplier, result_predicate, exception_predicate); "
            "fixed_delay(max_attempts, backoff_time_millis, result_predicate, "
            "exception_predicate); get_backoff_time_millis(current_attempts); "
            "get_retry_predicate(); no_restart()"
        ),
    },
    "datastream.state": {
        "ValueStateDescriptor": ("__init__(name, value_type_info)"),
        "ValueState": ("update(value); value()"),
        "ListStateDescriptor": ("__init__(name, elem_type_info)"),
        "ListState": ("add_all(values); update(values)"),
        "MapStateDescriptor": ("__init__(name, key_type_info, value_type_info)"),
        "MapState": (
            "contains(key); get(key); is_empty(); items(); keys(); put(key, value); "
            "put_all(dict_value); remove(key); values()"
        ),
        "ReducingStateDescriptor": (
            "__init__(name, reduce_function, type_info); get_reduce_function()"
        ),
        "AggregatingStateDescriptor": (
            "__init__(name, agg_function, state_type_info); get_agg_function()"
        ),
        "ReadOnlyBroadcastState": (
            "contains(key); get(key); is_empty(); items(); keys(); values()"
        ),
        "BroadcastState": ("put(key, value); put_all(dict_value); remove(key)"),
        "StateTtlConfig": (
            "__init__(update_type, state_visibility, ttl_time_characteristic, ttl, "
            "cleanup_strategies); get_cleanup_strategies(); get_state_visibility(); "
            "get_ttl(); get_ttl_time_characteristic(); get_update_type(); is_enabled(); "
            "new_builder(ttl); Builder.build; Builder.cleanup_full_snapshot; "
            "Builder.cleanup_in_rocksdb_compact_filter; Builder.cleanup_incrementally; "
            "Builder.disable_cleanup_in_background; Builder.never_return_expired; "
            "Builder.return_expired_if_not_cleaned_up; Builder.set_state_visibility; "
            "Builder.set_ttl; Builder.set_ttl_time_characteristic; "
            "Builder.set_update_type; Builder.update_ttl_on_create_and_write; "
            "Builder.update_ttl_on_read_and_write; Builder.use_processing_time; "
            "CleanupStrategies.CleanupStrategy; CleanupStrategies.EMPTY_STRATEGY; "
            "CleanupStrategies.EmptyCleanupStrategy; "
            "CleanupStrategies.IncrementalCleanupStrategy; "
            "CleanupStrategies.RocksdbCompactFilterCleanupStrategy; "
            "CleanupStrategies.Strategies; "
            "CleanupStrategies.get_incremental_cleanup_strategy; "
            "CleanupStrategies.get_rocksdb_compact_filter_cleanup_strategy; "
            "CleanupStrategies.in_full_snapshot; "
            "CleanupStrategies.is_cleanup_in_background; "
            "StateVisibility.NeverReturnExpired; "
            "StateVisibility.ReturnExpiredIfNotCleanedUp; "
            "TtlTimeCharacteristic.ProcessingTime; UpdateType.Disabled; "
            "UpdateType.OnCreateAndWrite; UpdateType.OnReadAndWrite"
        ),
    },
    "datastream.window": {
        "Window": ("max_timestamp()"),
        "TimeWindow": (
            "__init__(start, end); cover(other); get_window_start_with_offset(timestamp, "
            "offset, window_size); intersects(other); max_timestamp(); "
            "merge_windows(windows, callback)"
        ),
        "CountWindow": ("__init__(id); max_timestamp()"),
        "GlobalWindow": ("get(); max_timestamp()"),
        "WindowAssigner": (
            "assign_windows(element, timestamp, context); get_default_trigger(env); "
            "get_window_serializer(); is_event_time(); "
            "WindowAssignerContext.get_current_processing_time; "
            "WindowAssignerContext.get_runtime_context"
        ),
        "TumblingProcessingTimeWindows": (
            "__init__(size, offset); assign_windows(element, timestamp, context); "
            "get_default_trigger(env); get_window_serializer(); is_event_time(); of(size, "
            "offset)"
        ),
        "TumblingEventTimeWindows": (
            "__init__(size, offset); assign_windows(element, timestamp, context); "
            "get_default_trigger(env); get_window_serializer(); is_event_time(); of(size, "
            "offset)"
        ),
        "SlidingProcessingTimeWindows": (
            "__init__(size, slide, offset); assign_windows(element, timestamp, context); "
            "get_default_trigger(env); get_window_serializer(); is_event_time(); of(size, "
            "slide, offset)"
        ),
        "SlidingEventTimeWindows": (
            "__init__(size, slide, offset); assign_windows(element, timestamp, context); "
            "get_default_trigger(env); get_window_serializer(); is_event_time(); of(size, "
            "slide, offset)"
        ),
        "ProcessingTimeSessionWindows": (
            "__init__(session_gap); assign_windows(element, timestamp, context); "
            "get_default_trigger(env); get_window_serializer(); is_event_time(); "
            "merge_windows(windows, callback); with_dynamic_gap(extractor); with_gap(size)"
        ),
        "EventTimeSessionWindows": (
            "__init__(session_gap); assign_windows(element, timestamp, context); "
            "get_default_trigger(env); get_window_serializer(); is_event_time(); "
            "merge_windows(windows, callback); with_dynamic_gap(extractor); with_gap(size)"
        ),
        "DynamicProcessingTimeSessionWindows": (
            "__init__(session_window_time_gap_extractor); assign_windows(element, "
            "timestamp, context); get_default_trigger(env); get_window_serializer(); "
            "is_event_time(); merge_windows(windows, callback); with_dynamic_gap(extractor)"
        ),
        "DynamicEventTimeSessionWindows": (
            "__init__(session_window_time_gap_extractor); assign_windows(element, "
            "timestamp, context); get_default_trigger(env); get_window_serializer(); "
            "is_event_time(); merge_windows(windows, callback); with_dynamic_gap(extractor)"
        ),
        "GlobalWindows": (
            "assign_windows(element, timestamp, context); create(); "
            "get_default_trigger(env); get_window_serializer(); is_event_time()"
        ),
        "MergingWindowAssigner": ("merge_windows(windows, callback); MergeCallback.merge"),
        "CountTumblingWindowAssigner": (
            "__init__(window_size); assign_windows(element, timestamp, context); "
            "get_default_trigger(env); get_window_serializer(); is_event_time(); "
            "of(window_size)"
        ),
        "CountSlidingWindowAssigner": (
            "__init__(window_size, window_slide); assign_windows(element, timestamp, "
            "context); get_default_trigger(env); get_window_serializer(); is_event_time(); "
            "of(window_size, window_slide)"
        ),
        "TriggerResult": ("CONTINUE; FIRE; FIRE_AND_PURGE; PURGE; is_fire(); is_purge()"),
        "Trigger": (
            "can_merge(); clear(window, ctx); on_element(element, timestamp, window, ctx); "
            "on_event_time(time, window, ctx); on_merge(window, ctx); "
            "on_processing_time(time, window, ctx); "
            "OnMergeContext.merge_partitioned_state; "
            "TriggerContext.delete_event_time_timer; "
            "TriggerContext.delete_processing_time_timer; "
            "TriggerContext.get_current_processing_time; "
            "TriggerContext.get_current_watermark; TriggerContext.get_metric_group; "
            "TriggerContext.get_partitioned_state; "
            "TriggerContext.register_event_time_timer; "
            "TriggerContext.register_processing_time_timer"
        ),
        "EventTimeTrigger": (
            "can_merge(); clear(window, ctx); create(); on_element(element, timestamp, "
            "window, ctx); on_event_time(time, window, ctx); on_merge(window, ctx); "
            "on_processing_time(time, window, ctx)"
        ),
        "ProcessingTimeTrigger": (
            "can_merge(); clear(window, ctx); create(); on_element(element, timestamp, "
            "window, ctx); on_event_time(time, window, ctx); on_merge(window, ctx); "
            "on_processing_time(time, window, ctx)"
        ),
        "ContinuousEventTimeTrigger": (
            "__init__(interval); can_merge(); clear(window, ctx); of(interval); "
            "on_element(element, timestamp, window, ctx); on_event_time(time, window, "
            "ctx); on_merge(window, ctx); on_processing_time(time, window, ctx); "
            "register_next_fire_timestamp(time, window, ctx, fire_timestamp_state)"
        ),
        "ContinuousProcessingTimeTrigger": (
            "__init__(interval); can_merge(); clear(window, ctx); of(interval); "
            "on_element(element, timestamp, window, ctx); on_event_time(time, window, "
            "ctx); on_merge(window, ctx); on_processing_time(time, window, ctx); "
            "register_next_fire_timestamp(time, window, ctx, fire_timestamp_state)"
        ),
        "NeverTrigger": (
            "clear(window, ctx); on_element(element, timestamp, window, ctx); "
            "on_event_time(time, window, ctx); on_merge(window, ctx); "
            "on_processing_time(time, window, ctx)"
        ),
        "PurgingTrigger": (
            "__init__(nested_trigger); can_merge(); clear(window, ctx); "
            "of(nested_trigger); on_element(element, timestamp, window, ctx); "
            "on_event_time(time, window, ctx); on_merge(window, ctx); "
            "on_processing_time(time, window, ctx)"
        ),
        "CountTrigger": (
            "__init__(window_size); can_merge(); clear(window, ctx); of(window_size); "
            "on_element(element, timestamp, window, ctx); on_event_time(time, window, "
            "ctx); on_merge(window, ctx); on_processing_time(time, window, ctx)"
        ),
        "TimeWindowSerializer": ("deserialize(stream); serialize(element, stream)"),
        "CountWindowSerializer": ("deserialize(stream); serialize(element, stream)"),
        "GlobalWindowSerializer": ("deserialize(stream); serialize(element, stream)"),
        "SessionWindowTimeGapExtractor": ("extract(element)"),
    },
    "datastream.timerservice": {
        "TimerService": (
            "current_processing_time(); current_watermark(); "
            "delete_event_time_timer(timestamp); delete_processing_time_timer(timestamp); "
            "register_event_time_timer(timestamp); "
            "register_processing_time_timer(timestamp)"
        ),
    },
    "datastream.time_domain": {
        "TimeDomain": ("EVENT_TIME; PROCESSING_TIME"),
    },
    "datastream.output_tag": {
        "OutputTag": ("__init__(tag_id, type_info)"),
    },
    "datastream.async_data_stream": {
        "AsyncDataStream": (
            "ordered_wait(data_stream, async_function, timeout, capacity, output_type); "
            "ordered_wait_with_retry(data_stream, async_function, timeout, "
            "async_retry_strategy, capacity, output_type); unordered_wait(data_stream, "
            "async_function, timeout, capacity, output_type); "
            "unordered_wait_with_retry(data_stream, async_function, timeout, "
            "async_retry_strategy, capacity, output_type)"
        ),
    },
    "datastream.async_retry_strategies": {
        "RetryPredicate": (
            "__init__(result_predicate, exception_predicate); exception_predicate(); "
            "result_predicate()"
        ),
        "NoRetryStrategy": (
            "can_retry(current_attempts); get_backoff_time_millis(current_attempts); "
            "get_retry_predicate()"
        ),
        "FixedDelayRetryStrategy": (
            "__init__(max_attempts, backoff_time_millis, result_predicate, "
            "exception_predicate); can_retry(current_attempts); "
            "get_backoff_time_millis(current_attempts); get_retry_predicate()"
        ),
        "ExponentialBackoffDelayRetryStrategy": (
            "__init__(max_attempts, initial_delay, max_retry_delay, multiplier, "
            "result_predicate, exception_predicate); can_retry(current_attempts); "
            "get_backoff_time_millis(current_attempts); get_retry_predicate()"
        ),
    },
}
