// The rows of a partition on their way to Python, which get there as soon as they can.
//
// Spark's writer of Arrow batches asks for the next row before it looks whether a batch is full, and
// waits as long as there is none.  `PromptRows` follows the rows that have come by a pad as large
// as a batch may be, which fills theirs, and by an empty one, which lets the writer see that.
//
// Rows that come while the writer is busy go together.  A push costs a batch, so there is at most
// one in the time of Flink's buffer timeout; after a longer silence a row is pushed at once.
//
// A thread of its own reads the rows, since only a queue can say that it is empty.
//
// The driver has this compiled by Janino, which knows no generics and no lambdas.

package flinkish.realtime;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContext$;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.util.TaskCompletionListener;
import org.apache.spark.util.UninterruptibleThread;

/** The function for `mapPartitions`; of the columns the last is null in rows, and a pad's bytes. */
public final class PromptRows implements MapPartitionsFunction {
    private final int columns;
    private final int padBytes;
    private final long timeoutNanos;

    public PromptRows(int columns, int padBytes, long timeoutNanos) {
        this.columns = columns;
        this.padBytes = padBytes;
        this.timeoutNanos = timeoutNanos;
    }

    public Iterator call(Iterator rows) {
        return new Prompt(new Pump(rows, TaskContext.get()), pad(padBytes), pad(0), timeoutNanos);
    }

    private Object pad(int bytes) {
        Object[] values = new Object[columns];
        values[columns - 1] = new byte[bytes];
        return RowFactory.create(values);
    }
}

/** Rows and pads; for one thread. */
final class Prompt implements Iterator {
    private final Pump pump;
    private final Object pad;
    private final Object afterPad;
    private final long timeoutNanos;
    private final List taken = new ArrayList();
    private int at = 0;               // in `taken`, of the next row
    private boolean begun = false;
    private boolean pushed = true;    // no row has gone since the last pad
    private boolean padded = false;   // the last row was a pad
    private boolean ended = false;
    private long pushedAt;
    private Object found = null;      // what next() gives, if hasNext() has looked

    Prompt(Pump pump, Object pad, Object afterPad, long timeoutNanos) {
        this.pump = pump;
        this.pad = pad;
        this.afterPad = afterPad;
        this.timeoutNanos = timeoutNanos;
    }

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
            pushedAt = System.nanoTime() - timeoutNanos;
            pump.begin();
        }
        if (padded) {
            padded = false;
            return afterPad;
        }
        if (at == taken.size() && !take()) {
            pushed = true;
            padded = true;
            pushedAt = System.nanoTime();
            return pad;
        }
        Object row = taken.get(at++);
        if (row == Pump.END) {
            ended = true;
            pump.check();
            return null;
        }
        pushed = false;
        return row;
    }

    /** Take what has come, or wait for it; false if there is nothing and a push is due. */
    private boolean take() throws InterruptedException {
        taken.clear();
        at = 0;
        if (pump.queue.drainTo(taken) > 0) return true;
        Object row;
        if (pushed) {
            row = pump.queue.take();
        } else {
            long left = pushedAt + timeoutNanos - System.nanoTime();
            row = left > 0 ? pump.queue.poll(left, TimeUnit.NANOSECONDS) : null;
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
