// The rows of a partition on their way through the JVM in real-time mode, and what goes among them.
//
// A thread of its own, the pump, reads the rows, since only a queue can say that it is empty.  If no
// row is waiting, `Passing` may put rows of its own after those that have passed: pads
// (`PromptRows`) or marks (`PartitionedRows`).  It does so at most once in the time of Flink's
// buffer timeout; after a longer silence at once.
//
// The driver has this compiled by Janino, which knows no generics and no lambdas.

package flinkish.realtime;

import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Random;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContext$;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.api.java.UDF0;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.util.TaskCompletionListener;
import org.apache.spark.util.UninterruptibleThread;

/**
 * Rows that go to Python as soon as they can; of the columns the last is null in rows, and a pad's
 * bytes.
 *
 * Spark's writer of Arrow batches asks for the next row before it looks whether a batch is full, and
 * waits as long as there is none.  So a pad as large as a batch may be fills that of the rows before
 * it, and an empty one lets the writer see that.  Rows that come while the writer is busy go
 * together: a push costs a batch.
 */
public final class PromptRows implements MapPartitionsFunction {
    private final int columns;
    private final int padBytes;
    private final long timeoutNanos;
    private final int partitions;

    /** `partitions` are those of the operator that gets the rows; 0 if there is none. */
    public PromptRows(int columns, int padBytes, long timeoutNanos, int partitions) {
        this.columns = columns;
        this.padBytes = padBytes;
        this.timeoutNanos = timeoutNanos;
        this.partitions = partitions;
    }

    public Iterator call(Iterator rows) {
        int tasks = TaskContext.get().numPartitions();
        if (tasks < partitions) {
            throw new UnsupportedOperationException(
                "an operator of " + partitions + " partitions runs in " + tasks + " tasks, and in "
                + "real-time mode a task that has several partitions would wait for the end of the "
                + "first before it reads the next: take repartition(...) instead of coalesce(...) "
                + "after the operator"
            );
        }
        return new Padded(rows, timeoutNanos, pad(padBytes), pad(0));
    }

    private Object pad(int bytes) {
        Object[] values = new Object[columns];
        byte[] noise = new byte[bytes];
        new Random(1L).nextBytes(noise);  // as large if Spark compresses batches
        values[columns - 1] = noise;
        return RowFactory.create(values);
    }
}

final class Padded extends Passing {
    private final Object pad;
    private final Object afterPad;

    Padded(Iterator rows, long timeoutNanos, Object pad, Object afterPad) {
        super(rows, timeoutNanos, false);
        this.pad = pad;
        this.afterPad = afterPad;
    }

    void begin(ArrayDeque next) {}

    Object passed(Row row) {
        return row;
    }

    boolean after(ArrayDeque next, boolean atEnd) {
        if (!atEnd) {
            next.add(pad);
            next.add(afterPad);
        }
        return false;
    }
}

/** How many tasks the stage of a row has: what Python's TaskContext does not say. */
public final class StageTasks implements UDF0 {
    public Object call() {
        return Integer.valueOf(TaskContext.get().numPartitions());
    }

    public Column column() {
        UserDefinedFunction function = functions.udf((UDF0) this, DataTypes.IntegerType);
        return function.asNondeterministic().apply(new Column[0]);
    }
}

/**
 * Rows with the number of the partition of their key group, and marks of the event time among them.
 *
 * `flinkish.spark.real_time.packing` does this where the key or the time needs Python.  Three columns
 * are added: the partition, the task, and the highest event time (ms) that its rows have had so far,
 * null before the first.  The upper 32 bits of the task say how many there are.  A partition that has
 * got no row since that time gets a mark: only these columns, and -1 less the task.
 */
public final class PartitionedRows implements MapPartitionsFunction {
    private final int columns;
    private final int[] keys;
    private final int[] texts;
    private final int time;
    private final long perMillis;
    private final int groups;
    private final int partitions;
    private final boolean mayIdle;
    private final long timeoutNanos;

    /**
     * `keys` are the columns of the key, of which `texts` are text as UTF-8; `time` is that of the
     * event time, or -1, and `perMillis` of its numbers are a millisecond.  A source that `mayIdle` is active
     * while it has rows: then marks go also after those that do not move its time.
     */
    public PartitionedRows(
        int columns, int[] keys, int[] texts, int time, long perMillis,
        int groups, int partitions, int mayIdle, long timeoutNanos
    ) {
        this.columns = columns;
        this.keys = keys;
        this.texts = texts;
        this.time = time;
        this.perMillis = perMillis;
        this.groups = groups;
        this.partitions = partitions;
        this.mayIdle = mayIdle != 0;
        this.timeoutNanos = timeoutNanos;
    }

    public Iterator call(Iterator rows) {
        return new Partitioned(rows, this);
    }

    int columns() { return columns; }
    int partitions() { return partitions; }
    boolean mayIdle() { return mayIdle; }
    long timeoutNanos() { return timeoutNanos; }

    /** The event time (ms) of a row; null if there is none. */
    Long timeOf(Row row) {
        if (time < 0 || row.isNullAt(time)) return null;
        long value = ((Number) row.get(time)).longValue();
        return Long.valueOf(Math.floorDiv(value, perMillis));
    }

    /** The partition of a row's key; rows without a key are those of the last one. */
    int partitionOf(Row row) {
        int code = 0;
        for (int at = 0; at < keys.length; at++) {
            if (row.isNullAt(keys[at])) return partitions - 1;
            int hash = hash(row.get(keys[at]), Arrays.binarySearch(texts, keys[at]) >= 0);
            code = keys.length == 1 ? hash : 31 * code + hash;
        }
        return murmur(code) % groups % partitions;
    }

    /** Java's hash code of a value as Flink has it; 0.0 and -0.0 are one key. */
    private static int hash(Object value, boolean text) {
        if (value instanceof byte[]) {
            byte[] bytes = (byte[]) value;
            if (text) return new String(bytes, StandardCharsets.UTF_8).hashCode();
            return Arrays.hashCode(bytes);
        }
        if (value instanceof Double) return Double.hashCode(((Double) value).doubleValue() + 0.0);
        if (value instanceof Float) return Float.hashCode(((Float) value).floatValue() + 0.0f);
        return value.hashCode();
    }

    /** Flink's MathUtils.murmurHash: Murmur3 of 32 bits, never negative. */
    private static int murmur(int code) {
        int h = Integer.rotateLeft(code * 0xCC9E2D51, 15) * 0x1B873593;
        h = Integer.rotateLeft(h, 13) * 5 + 0xE6546B64;
        h ^= 4;
        h = (h ^ h >>> 16) * 0x85EBCA6B;
        h = (h ^ h >>> 13) * 0xC2B2AE35;
        h ^= h >>> 16;
        return h >= 0 ? h : h == Integer.MIN_VALUE ? 0 : -h;
    }
}

final class Partitioned extends Passing {
    private static final int PATIENCE = 2;

    private final PartitionedRows plan;
    private final Long task;
    private final Long markedTask;
    private final long[] told;        // the highest time that each partition knows
    private final int[] heard;        // for how many more calls of `after` a row of late will do
    private long highest = Long.MIN_VALUE;

    Partitioned(Iterator rows, PartitionedRows plan) {
        super(rows, plan.timeoutNanos(), true);
        this.plan = plan;
        task = Long.valueOf(
            (long) TaskContext.get().numPartitions() << 32 | TaskContext.getPartitionId()
        );
        markedTask = Long.valueOf(-1 - task.longValue());
        told = new long[plan.partitions()];
        heard = new int[plan.partitions()];
    }

    void begin(ArrayDeque next) {
        for (int one = 0; one < told.length; one++) next.add(told(null, one));
    }

    Object passed(Row row) {
        Long time = plan.timeOf(row);
        if (time != null) highest = Math.max(highest, time.longValue());
        int partition = plan.partitionOf(row);
        heard[partition] = PATIENCE;
        return told(row, partition);
    }

    /** One that got a row of late may soon get the next one, so its mark can wait. */
    boolean after(ArrayDeque next, boolean atEnd) {
        boolean owes = false;
        for (int one = 0; one < told.length; one++) {
            boolean owed = told[one] < highest;
            if (heard[one] > 0 && !atEnd) {
                heard[one]--;
                owes |= owed;
            } else if (owed || (plan.mayIdle() && highest > Long.MIN_VALUE)) {
                next.add(told(null, one));
            }
        }
        return owes;
    }

    private Object told(Row row, int partition) {
        told[partition] = highest;
        int columns = plan.columns();
        Object[] values = new Object[columns + 3];
        for (int at = 0; row != null && at < columns; at++) values[at] = row.get(at);
        values[columns] = Integer.valueOf(partition);
        values[columns + 1] = row == null ? markedTask : task;
        values[columns + 2] = highest == Long.MIN_VALUE ? null : Long.valueOf(highest);
        return RowFactory.create(values);
    }
}

/** Rows as they pass, and others among them; for one thread. */
abstract class Passing implements Iterator {
    private final Pump pump;
    private final long timeoutNanos;
    private final boolean alsoIfBusy;
    private final ArrayDeque next = new ArrayDeque();  // what goes before the next row
    private final List taken = new ArrayList();
    private int at = 0;               // in `taken`, of the next row
    private boolean begun = false;
    private boolean quiet = true;     // `after` has nothing to do until a row passes
    private boolean ended = false;
    private long calledAt;            // when `after` was
    private Object found = null;      // what next() gives, if hasNext() has looked

    /** If it is to put rows among others `alsoIfBusy`, it does so while rows are waiting, too. */
    Passing(Iterator rows, long timeoutNanos, boolean alsoIfBusy) {
        this.pump = new Pump(rows, TaskContext.get());
        this.timeoutNanos = timeoutNanos;
        this.alsoIfBusy = alsoIfBusy;
    }

    /** What goes before the first row. */
    abstract void begin(ArrayDeque next);

    /** What a row passes as. */
    abstract Object passed(Row row);

    /** What goes after rows that have passed, if anything; whether it owes more, rows or not. */
    abstract boolean after(ArrayDeque next, boolean atEnd);

    public boolean hasNext() {
        if (found == null && !ended) {
            try {
                found = look();
            } catch (InterruptedException e) {
                Platform.throwException(e);
            }
        }
        return found != null;
    }

    public Object next() {
        if (!hasNext()) throw new NoSuchElementException();
        Object row = found;
        found = null;
        return row;
    }

    private Object look() throws InterruptedException {
        if (!begun) {
            begun = true;
            calledAt = System.nanoTime() - timeoutNanos;
            begin(next);
            pump.begin();
        }
        while (next.isEmpty()) {
            if (at == taken.size() && !take()) {
                call(false);
                continue;
            }
            Object row = taken.get(at++);
            if (row != Pump.END) {
                quiet = false;
                return passed((Row) row);
            }
            pump.check();
            if (quiet) {
                ended = true;
                return null;
            }
            at--;                     // the end is seen once more, after what goes before it
            call(true);
        }
        return next.poll();
    }

    private void call(boolean atEnd) {
        calledAt = System.nanoTime();
        quiet = !after(next, atEnd) || atEnd;
    }

    /** Take what has come, or wait for it; false if `after` is due. */
    private boolean take() throws InterruptedException {
        taken.clear();
        at = 0;
        boolean due = !quiet && System.nanoTime() - calledAt >= timeoutNanos;
        if (due && alsoIfBusy) return false;
        if (pump.queue.drainTo(taken) > 0) return true;
        if (due) return false;
        Object row;
        if (quiet) {
            row = pump.queue.take();
        } else {
            row = pump.queue.poll(calledAt + timeoutNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
            if (row == null) return false;
        }
        taken.add(row);
        return true;
    }
}

/**
 * The thread that reads the rows.  It ends with them, or with the task: before Spark closes what the
 * rows come from, it is interrupted and waited for.
 */
final class Pump extends UninterruptibleThread implements TaskCompletionListener {
    static final Object END = new Object();

    final ArrayBlockingQueue queue = new ArrayBlockingQueue(4096);
    private final Iterator rows;
    private final TaskContext context;
    private volatile Throwable failure = null;
    private volatile boolean stopped = false;

    Pump(Iterator rows, TaskContext context) {
        super("flinkish-pump");
        this.rows = rows;
        this.context = context;
        setDaemon(true);
    }

    void begin() {
        context.addTaskCompletionListener((TaskCompletionListener) this);
        start();
    }

    /** Throw what reading has thrown. */
    void check() {
        if (failure != null) Platform.throwException(failure);
    }

    public void run() {
        TaskContext$.MODULE$.setTaskContext(context);
        try {
            while (!stopped && rows.hasNext()) queue.put(rows.next());
        } catch (Throwable e) {
            failure = e;
        }
        TaskContext$.MODULE$.unset();
        try {
            if (!stopped) queue.put(END);
        } catch (InterruptedException e) {
            // The task has ended, and nobody asks for rows any more.
        }
    }

    public void onTaskCompletion(TaskContext ended) {
        stopped = true;
        interrupt();
        try {
            join(10000L);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
