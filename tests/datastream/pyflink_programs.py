"""The same of what programs are made of: environment, streams, jobs and settings."""

PROGRAMS = {
    "datastream.data_stream": {
        "CloseableIterator": ("close(); next()"),
        "DataStream": (
            "add_sink(sink_func); assign_timestamps_and_watermarks(watermark_strategy); "
            "broadcast(broadcast_state_descriptor, *other_broadcast_state_descriptors); "
            "cache(); connect(ds); disable_chaining(); "
            "execute_and_collect(job_execution_name, limit); filter(func); flat_map(func, "
            "output_type); force_non_parallel(); forward(); get_execution_config(); "
            "get_execution_environment(); get_name(); get_side_output(output_tag); "
            "get_type(); key_by(key_selector, key_type); map(func, output_type); name(name); "
            "partition_custom(partitioner, key_selector); print(sink_identifier); "
            "process(func, output_type); project(*field_indexes); rebalance(); rescale(); "
            "set_buffer_timeout(timeout_millis); set_description(description); "
            "set_max_parallelism(max_parallelism); set_parallelism(parallelism); "
            "set_uid_hash(uid_hash); shuffle(); sink_to(sink); "
            "slot_sharing_group(slot_sharing_group); start_new_chain(); uid(uid); "
            "union(*streams); window_all(window_assigner)"
        ),
        "KeyedStream": (
            "add_sink(sink_func); cache(); connect(ds); count_window(size, slide); "
            "disable_chaining(); filter(func); flat_map(func, output_type); "
            "force_non_parallel(); forward(); get_name(); key_by(key_selector, key_type); "
            "map(func, output_type); max(position_to_max); max_by(position_to_max_by); "
            "min(position_to_min); min_by(position_to_min_by); name(name); "
            "partition_custom(partitioner, key_selector); print(sink_identifier); "
            "process(func, output_type); project(*field_indexes); rebalance(); reduce(func); "
            "rescale(); set_buffer_timeout(timeout_millis); "
            "set_max_parallelism(max_parallelism); set_parallelism(parallelism); "
            "set_uid_hash(uid_hash); shuffle(); slot_sharing_group(slot_sharing_group); "
            "start_new_chain(); sum(position_to_sum); uid(uid); union(*streams); "
            "window(window_assigner)"
        ),
        "ConnectedStreams": (
            "flat_map(func, output_type); key_by(key_selector1, key_selector2, key_type); "
            "map(func, output_type); process(func, output_type)"
        ),
        "WindowedStream": (
            "aggregate(aggregate_function, window_function, accumulator_type, output_type); "
            "allowed_lateness(time_ms); apply(window_function, output_type); "
            "get_execution_environment(); get_input_type(); process(process_window_function, "
            "output_type); reduce(reduce_function, window_function, output_type); "
            "side_output_late_data(output_tag); trigger(trigger)"
        ),
        "DataStreamSink": (
            "disable_chaining(); name(name); set_description(description); "
            "set_parallelism(parallelism); set_uid_hash(uid_hash); "
            "slot_sharing_group(slot_sharing_group); uid(uid)"
        ),
        "BroadcastConnectedStream": ("process(func, output_type)"),
    },
    "datastream.stream_execution_environment": {
        "StreamExecutionEnvironment": (
            "get_config(); set_parallelism(parallelism); "
            "set_max_parallelism(max_parallelism); "
            "register_slot_sharing_group(slot_sharing_group); get_parallelism(); "
            "get_max_parallelism(); set_runtime_mode(execution_mode); "
            "set_buffer_timeout(timeout_millis); get_buffer_timeout(); "
            "disable_operator_chaining(); is_chaining_enabled(); get_checkpoint_config(); "
            "enable_checkpointing(interval, mode); get_checkpoint_interval(); "
            "get_checkpointing_mode(); set_default_savepoint_directory(directory); "
            "get_default_savepoint_directory(); configure(configuration); "
            "add_python_file(file_path); set_python_requirements(requirements_file_path, "
            "requirements_cache_dir); add_python_archive(archive_path, target_dir); "
            "set_python_executable(python_exec); add_jars(*jars_path); "
            "add_classpaths(*classpaths); get_execution_environment(configuration); "
            "add_source(source_func, source_name, type_info); from_source(source, "
            "watermark_strategy, source_name, type_info); from_collection(collection, "
            "type_info); read_text_file(file_path, charset_name); execute(job_name); "
            "execute_async(job_name); get_execution_plan(); close()"
        ),
    },
    "datastream.checkpoint_config": {
        "CheckpointConfig": (
            "get_checkpointing_mode(); set_checkpointing_mode(checkpointing_mode); "
            "get_checkpoint_interval(); set_checkpoint_interval(checkpoint_interval); "
            "get_checkpoint_timeout(); set_checkpoint_timeout(checkpoint_timeout); "
            "get_min_pause_between_checkpoints(); get_max_concurrent_checkpoints(); "
            "get_tolerable_checkpoint_failure_number(); is_unaligned_checkpoints_enabled(); "
            "enable_unaligned_checkpoints(enabled); disable_unaligned_checkpoints(); "
            "is_checkpointing_enabled(); get_externalized_checkpoint_retention()"
        ),
    },
    "datastream.execution_mode": {
        "RuntimeExecutionMode": ("STREAMING; BATCH; AUTOMATIC"),
    },
    "common.configuration": {
        "Configuration": (
            "get_string(key, default_value); set_string(key, value); get_integer(key, "
            "default_value); set_integer(key, value); get_boolean(key, default_value); "
            "set_boolean(key, value); get_float(key, default_value); set_float(key, value); "
            "get_bytearray(key, default_value); set_bytearray(key, value); key_set(); "
            "add_all_to_dict(target_dict); add_all(other, prefix); contains_key(key); "
            "to_dict(); remove_config(key)"
        ),
    },
    "common.job_client": {
        "JobClient": (
            "get_job_id(); get_job_status(); cancel(); "
            "stop_with_savepoint(advance_to_end_of_event_time, savepoint_directory); "
            "trigger_savepoint(savepoint_directory); get_accumulators(); "
            "get_job_execution_result()"
        ),
    },
    "common.job_execution_result": {
        "JobExecutionResult": (
            "get_job_id(); is_job_execution_result(); get_net_runtime(); "
            "get_accumulator_result(accumulator_name); get_all_accumulator_results()"
        ),
    },
    "common.job_status": {
        "JobStatus": (
            "is_globally_terminal_state(); is_terminal_state(); CREATED; RUNNING; FAILING; "
            "FAILED; CANCELLING; CANCELED; FINISHED; RESTARTING; SUSPENDED; RECONCILING"
        ),
    },
    "common.completable_future": {
        "CompletableFuture": ("cancelled(); done(); result(); exception()"),
    },
}
