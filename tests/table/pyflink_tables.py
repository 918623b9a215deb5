"""The same of tables: those of PyFlink's methods that there are."""

# Module, then class: its methods with their parameters, and the names of its attributes.
TABLES = {
    "table.table_environment": {
        "TableEnvironment": (
            "create(environment_settings); create_statement_set(); create_table(path, "
            "descriptor, ignoreIfExists); create_temporary_table(path, descriptor, "
            "ignoreIfExists); create_temporary_view(view_path, table_or_data_stream, "
            "*fields_or_schema); drop_temporary_table(table_path); "
            "drop_temporary_view(view_path); execute_sql(stmt); "
            "from_descriptor(descriptor); from_elements(elements, schema, verify_schema); "
            "from_path(path); get_config(); list_tables(); list_temporary_views(); "
            "list_views(); sql_query(query)"
        ),
        "StreamTableEnvironment": (
            "create(stream_execution_environment, environment_settings); "
            "create_statement_set(); create_table(path, descriptor, ignoreIfExists); "
            "create_temporary_table(path, descriptor, ignoreIfExists); "
            "create_temporary_view(view_path, table_or_data_stream, *fields_or_schema); "
            "drop_temporary_table(table_path); drop_temporary_view(view_path); "
            "execute_sql(stmt); from_changelog_stream(data_stream, schema, changelog_mode); "
            "from_data_stream(data_stream, *fields_or_schema); from_descriptor(descriptor); "
            "from_elements(elements, schema, verify_schema); from_path(path); get_config(); "
            "list_tables(); list_temporary_views(); list_views(); sql_query(query); "
            "to_append_stream(table, type_info); to_changelog_stream(table, target_schema, "
            "changelog_mode); to_data_stream(table); to_retract_stream(table, type_info)"
        ),
    },
    "table.table": {
        "Table": (
            "add_columns(*fields); alias(field, *fields); distinct(); "
            "drop_columns(*fields); execute(); execute_insert(table_path_or_descriptor, "
            "overwrite); filter(predicate); get_schema(); limit(fetch, offset); "
            "order_by(*fields); print_schema(); select(*fields); to_pandas(); "
            "union_all(right); where(predicate)"
        ),
    },
    "table.table_result": {
        "TableResult": (
            "collect(); get_job_client(); get_result_kind(); get_table_schema(); print(); "
            "wait(timeout_ms)"
        ),
    },
    "table.statement_set": {
        "StatementSet": (
            "add_insert(target_path_or_descriptor, table, overwrite); add_insert_sql(stmt); "
            "attach_as_datastream(); execute()"
        ),
    },
    "table.schema": {
        "Schema": (
            "new_builder(); Builder.build(); Builder.column(column_name, data_type); "
            "Builder.column_by_expression(column_name, expr); "
            "Builder.column_by_metadata(column_name, data_type, metadata_key, is_virtual); "
            "Builder.from_fields(field_names, field_data_types); "
            "Builder.from_row_data_type(data_type); Builder.from_schema(unresolved_schema); "
            "Builder.primary_key(*column_names); Builder.primary_key_named(constraint_name, "
            "*column_names); Builder.watermark(column_name, watermark_expr)"
        ),
    },
    "table.table_schema": {
        "TableSchema": (
            "copy(); get_field_count(); get_field_data_type(field); get_field_data_types(); "
            "get_field_name(field_index); get_field_names(); to_row_data_type()"
        ),
    },
    "table.table_descriptor": {
        "TableDescriptor": (
            "for_connector(connector); get_comment(); get_options(); get_partition_keys(); "
            "get_schema(); Builder.build(); Builder.comment(comment); "
            "Builder.format(format, format_option); Builder.option(key, value); "
            "Builder.partitioned_by(*partition_keys); Builder.schema(schema)"
        ),
        "FormatDescriptor": (
            "for_format(format); get_format(); get_options(); Builder.build(); "
            "Builder.option(key, value)"
        ),
    },
    "table.environment_settings": {
        "EnvironmentSettings": (
            "get_built_in_catalog_name(); get_built_in_database_name(); "
            "get_configuration(); in_batch_mode(); in_streaming_mode(); "
            "is_streaming_mode(); new_instance(); Builder.build(); Builder.in_batch_mode(); "
            "Builder.in_streaming_mode(); "
            "Builder.with_built_in_catalog_name(built_in_catalog_name); "
            "Builder.with_built_in_database_name(built_in_database_name); "
            "Builder.with_configuration(config)"
        ),
    },
    "table.changelog_mode": {
        "ChangelogMode": ("all(); insert_only(); upsert()"),
    },
    "table.types": {
        "DataTypes": (
            "ARRAY(element_type, nullable); BIGINT(nullable); BINARY(length, nullable); "
            "BOOLEAN(nullable); BYTES(nullable); CHAR(length, nullable); DATE(nullable); "
            "DECIMAL(precision, scale, nullable); DOUBLE(nullable); FIELD(name, data_type, "
            "description); FLOAT(nullable); INT(nullable); MAP(key_type, value_type, "
            "nullable); ROW(row_fields, nullable); SMALLINT(nullable); STRING(nullable); "
            "TIME(precision, nullable); TIMESTAMP(precision, nullable); "
            "TIMESTAMP_LTZ(precision, nullable); TIMESTAMP_WITH_LOCAL_TIME_ZONE(precision, "
            "nullable); TINYINT(nullable); VARBINARY(length, nullable); VARCHAR(length, "
            "nullable)"
        ),
    },
    "table.expression": {
        "Expression": (
            "alias(name, *extra_names); asc; cast(data_type); desc; is_not_null; is_null"
        ),
    },
    "table.result_kind": {
        "ResultKind": ("SUCCESS; SUCCESS_WITH_CONTENT"),
    },
}
