"""The same of sources, sinks and formats."""

CONNECTORS = {
    "common.serialization": {
        "RowDataBulkWriterFactory": ("get_row_type()"),
        "RowFieldExtractorSchema": ("__init__(field_index)"),
        "SimpleStringSchema": ("__init__(charset)"),
        "Encoder": ("simple_string_encoder(charset_name)"),
    },
    "datastream.connectors.base": {
        "DeliveryGuarantee": ("AT_LEAST_ONCE; EXACTLY_ONCE; NONE"),
    },
    "datastream.connectors.file_system": {
        "FileCompactor": ("concat_file_compactor(file_delimiter); identical_file_compactor()"),
        "FileCompactStrategy": (
            "Builder.build; Builder.enable_compaction_on_checkpoint; "
            "Builder.set_num_compact_threads; Builder.set_size_threshold; builder()"
        ),
        "OutputFileConfig": (
            "OutputFileConfigBuilder.build; OutputFileConfigBuilder.with_part_prefix; "
            "OutputFileConfigBuilder.with_part_suffix; __init__(part_prefix, part_suffix); "
            "builder(); get_part_prefix(); get_part_suffix()"
        ),
        "FileSource": (
            "for_bulk_file_format(bulk_format, *paths); "
            "for_record_stream_format(stream_format, *paths)"
        ),
        "FileSourceBuilder": (
            "build(); monitor_continuously(discovery_interval); process_static_file_set(); "
            "set_file_enumerator(file_enumerator); set_split_assigner(split_assigner)"
        ),
        "FileSink": (
            "BaseBuilder.build; BaseBuilder.disable_compact; BaseBuilder.enable_compact; "
            "BaseBuilder.with_bucket_assigner; BaseBuilder.with_bucket_check_interval; "
            "BaseBuilder.with_output_file_config; BaseBuilder.with_rolling_policy; "
            "BulkFormatBuilder.build; BulkFormatBuilder.with_rolling_policy; "
            "RowFormatBuilder.with_rolling_policy; for_bulk_format(base_path, "
            "writer_factory); for_row_format(base_path, encoder)"
        ),
        "StreamFormat": ("text_line_format(charset_name)"),
        "FileEnumeratorProvider": (
            "default_non_splittable_file_enumerator(); default_splittable_file_enumerator()"
        ),
        "FileSplitAssignerProvider": ("locality_aware_split_assigner()"),
        "RollingPolicy": (
            "default_rolling_policy(part_size, rollover_interval, inactivity_interval); "
            "on_checkpoint_rolling_policy()"
        ),
        "BucketAssigner": (
            "base_path_bucket_assigner(); date_time_bucket_assigner(format_str, timezone_id)"
        ),
    },
    "datastream.connectors.kafka": {
        "KafkaSource": ("builder()"),
        "KafkaSourceBuilder": (
            "build(); set_bootstrap_servers(bootstrap_servers); "
            "set_bounded(stopping_offsets_initializer); set_client_id_prefix(prefix); "
            "set_group_id(group_id); set_partitions(partitions); set_properties(props); "
            "set_property(key, value); set_starting_offsets(starting_offsets_initializer); "
            "set_topic_pattern(topic_pattern); set_topics(*topics); "
            "set_unbounded(stopping_offsets_initializer); "
            "set_value_only_deserializer(deserialization_schema)"
        ),
        "KafkaTopicPartition": ("__init__(topic, partition)"),
        "KafkaOffsetResetStrategy": ("EARLIEST; LATEST; NONE"),
        "KafkaOffsetsInitializer": (
            "committed_offsets(offset_reset_strategy); earliest(); latest(); "
            "offsets(offsets, offset_reset_strategy); timestamp(timestamp)"
        ),
        "KafkaSink": ("builder()"),
        "KafkaSinkBuilder": (
            "build(); set_bootstrap_servers(bootstrap_servers); "
            "set_delivery_guarantee(delivery_guarantee); set_property(key, value); "
            "set_record_serializer(record_serializer); "
            "set_transactional_id_prefix(transactional_id_prefix)"
        ),
        "KafkaRecordSerializationSchema": ("builder()"),
        "KafkaRecordSerializationSchemaBuilder": (
            "build(); set_key_serialization_schema(key_serialization_schema); "
            "set_topic(topic); set_topic_selector(topic_selector); "
            "set_value_serialization_schema(value_serialization_schema)"
        ),
        "KafkaTopicSelector": ("apply(data)"),
    },
    "datastream.connectors.jdbc": {
        "JdbcSink": ("sink(sql, type_info, jdbc_connection_options, jdbc_execution_options)"),
        "JdbcConnectionOptions": (
            "JdbcConnectionOptionsBuilder.build; "
            "JdbcConnectionOptionsBuilder.with_driver_name; "
            "JdbcConnectionOptionsBuilder.with_password; "
            "JdbcConnectionOptionsBuilder.with_url; "
            "JdbcConnectionOptionsBuilder.with_user_name; get_db_url(); get_driver_name(); "
            "get_password(); get_user_name()"
        ),
        "JdbcExecutionOptions": (
            "Builder.build; Builder.with_batch_interval_ms; Builder.with_batch_size; "
            "Builder.with_max_retries; builder(); defaults(); get_batch_interval_ms(); "
            "get_batch_size(); get_max_retries()"
        ),
    },
    "datastream.connectors.number_seq": {
        "NumberSequenceSource": ("__init__(start, end)"),
    },
    "datastream.formats.avro": {
        "AvroSchema": ("parse_file(file_path); parse_string(json_schema)"),
        "GenericRecordAvroTypeInfo": ("__init__(schema)"),
        "AvroInputFormat": ("__init__(path, schema); get_produced_type()"),
        "AvroBulkWriters": ("for_generic_record(schema)"),
        "AvroRowDeserializationSchema": ("__init__(record_class, avro_schema_string)"),
        "AvroRowSerializationSchema": ("__init__(record_class, avro_schema_string)"),
    },
    "datastream.formats.csv": {
        "CsvSchema": ("builder(); size()"),
        "CsvSchemaBuilder": (
            "add_array_column(name, separator, element_type); add_boolean_column(name); "
            "add_columns_from(schema); add_number_column(name, number_type); "
            "add_string_column(name); build(); clear_columns(); "
            "disable_array_element_separator(); disable_escape_char(); "
            "disable_quote_char(); remove_array_element_separator(index); "
            "set_allow_comments(allow); set_any_property_name(name); "
            "set_array_element_separator(separator); set_column_separator(char); "
            "set_escape_char(char); set_line_separator(separator); "
            "set_null_value(null_value); set_quote_char(char); "
            "set_skip_first_data_row(skip); set_strict_headers(strict); "
            "set_use_header(use); size()"
        ),
        "CsvReaderFormat": ("for_schema(schema); text_line_format(charset_name)"),
        "CsvBulkWriters": ("for_schema(schema)"),
        "CsvRowDeserializationSchema": (
            "Builder.build; Builder.set_allow_comments; "
            "Builder.set_array_element_delimiter; Builder.set_escape_character; "
            "Builder.set_field_delimiter; Builder.set_ignore_parse_errors; "
            "Builder.set_null_literal; Builder.set_quote_character"
        ),
        "CsvRowSerializationSchema": (
            "Builder.build; Builder.disable_quote_character; "
            "Builder.set_array_element_delimiter; Builder.set_escape_character; "
            "Builder.set_field_delimiter; Builder.set_line_delimiter; "
            "Builder.set_null_literal; Builder.set_quote_character"
        ),
    },
    "datastream.formats.json": {
        "JsonRowDeserializationSchema": (
            "Builder.build; Builder.fail_on_missing_field; Builder.ignore_parse_errors; "
            "Builder.json_schema; Builder.type_info; builder()"
        ),
        "JsonRowSerializationSchema": ("Builder.build; Builder.with_type_info; builder()"),
    },
    "datastream.formats.orc": {
        "OrcBulkWriters": ("for_row_type(row_type, writer_properties, hadoop_config)"),
    },
    "datastream.formats.parquet": {
        "AvroParquetReaders": ("for_generic_record(schema)"),
        "AvroParquetWriters": ("for_generic_record(schema)"),
        "ParquetColumnarRowInputFormat": (
            "__init__(row_type, hadoop_config, batch_size, is_utc_timestamp, is_case_sensitive)"
        ),
        "ParquetBulkWriters": ("for_row_type(row_type, hadoop_config, utc_timestamp)"),
    },
}
