// The count of spark_real_time.py as a job of Flink's, for the same broker, sender and reader.
//
//     java -cp ... FlinkCounts BROKER ROWS RESULTS EVERY BUFFER_TIMEOUT_MS CHECKPOINT_MS

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;
import org.apache.kafka.clients.consumer.ConsumerRecord;

public final class FlinkCounts {
    private static final long TIMER_MS = 3_600_000;

    /** A key, and when its row was sent (microseconds). */
    static final class Rows implements KafkaRecordDeserializationSchema<Tuple2<String, Long>> {
        @Override
        public void deserialize(
            ConsumerRecord<byte[], byte[]> record, Collector<Tuple2<String, Long>> out
        ) throws IOException {
            String key = new String(record.key(), StandardCharsets.UTF_8);
            String sent = new String(record.value(), StandardCharsets.UTF_8);
            out.collect(Tuple2.of(key, Long.parseLong(sent)));
        }

        @Override
        public TypeInformation<Tuple2<String, Long>> getProducedType() {
            return Types.TUPLE(Types.STRING, Types.LONG);
        }
    }

    /** Counts the rows of a key and moves its timer. */
    static final class Counts extends KeyedProcessFunction<String, Tuple2<String, Long>, String> {
        private final int every;
        private transient ValueState<Long> count;
        private transient ValueState<Long> timer;

        Counts(int every) {
            this.every = every;
        }

        @Override
        public void open(OpenContext context) {
            count = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.LONG));
            timer = getRuntimeContext().getState(new ValueStateDescriptor<>("timer", Types.LONG));
        }

        @Override
        public void processElement(Tuple2<String, Long> row, Context context, Collector<String> out)
            throws Exception {
            long counted = (count.value() == null ? 0 : count.value()) + 1;
            count.update(counted);
            Long before = timer.value();
            if (before != null) context.timerService().deleteEventTimeTimer(before);
            long later = context.timestamp() + TIMER_MS;
            context.timerService().registerEventTimeTimer(later);
            timer.update(later);
            if (counted % every == 0) out.collect(row.f1 + " " + counted);
        }

        @Override
        public void onTimer(long timestamp, OnTimerContext context, Collector<String> out) {
            out.collect(timestamp + " 0");
        }
    }

    public static void main(String[] args) throws Exception {
        StreamExecutionEnvironment env =
            StreamExecutionEnvironment.createLocalEnvironment(2, new Configuration());
        env.setBufferTimeout(Long.parseLong(args[4]));
        env.enableCheckpointing(Long.parseLong(args[5]));
        KafkaSource<Tuple2<String, Long>> source =
            KafkaSource.<Tuple2<String, Long>>builder()
                .setBootstrapServers(args[0])
                .setTopics(args[1])
                .setGroupId("flink")
                .setStartingOffsets(OffsetsInitializer.earliest())
                .setDeserializer(new Rows())
                .build();
        KafkaSink<String> sink =
            KafkaSink.<String>builder()
                .setBootstrapServers(args[0])
                .setRecordSerializer(
                    KafkaRecordSerializationSchema.builder()
                        .setTopic(args[2])
                        .setValueSerializationSchema(new SimpleStringSchema())
                        .build())
                .build();
        WatermarkStrategy<Tuple2<String, Long>> strategy =
            WatermarkStrategy.<Tuple2<String, Long>>forMonotonousTimestamps()
                .withTimestampAssigner((row, before) -> row.f1 / 1000);
        env.fromSource(source, strategy, "rows")
            .keyBy(row -> row.f0, Types.STRING)
            .process(new Counts(Integer.parseInt(args[3])))
            .returns(Types.STRING)
            .sinkTo(sink);
        env.execute("counts");
    }
}
