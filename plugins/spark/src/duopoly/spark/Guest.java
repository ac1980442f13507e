package duopoly.spark;

import java.io.EOFException;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An executor that tells its host's agent which tasks it runs, so that their fetches carry their
 * levels (schemas/duopoly.proto, GuestHello and GuestTask). A thread of its own does all input and
 * output. A task that begins waits for the answer, for at most WAIT_MS and only while there is a
 * connection: its level is in force from then on. If the queue is full, the task is not announced;
 * if the connection ends, it is tried again every AGAIN_MS, and running tasks are announced again.
 */
public final class Guest implements AutoCloseable {
    /** A job's local property with duopoly's numbers of one of Spark's stages: "JOB STAGE". */
    static final String STAGE = "duopoly.stage.";

    private static final Logger LOG = LoggerFactory.getLogger(Guest.class);
    private static final String SOCKET = "spark.duopoly.guests";
    private static final int VERSION = 1;
    private static final int WAIT_MS = 5;
    private static final int AGAIN_MS = 1000;
    private static final int QUEUE_MOST = 1024;
    private static final int MESSAGE_MOST = 65536;
    private static final long NOWHERE = 0xffffffffL; /* not a job's number */
    /* Fields of Envelope. */
    private static final int HELLO = 157, TASK = 158, REFUSED = 31;

    /** A task that begins or has ended, until it is sent. */
    private static final class Word {
        final int kind;
        final Message body;
        final CountDownLatch told = new CountDownLatch(1);

        Word(int kind, Message body) {
            this.kind = kind;
            this.body = body;
        }
    }

    private final String path;
    private final Message hello;
    private final BlockingQueue<Word> queue = new ArrayBlockingQueue<>(QUEUE_MOST);
    private final Map<Long, Message> running = new ConcurrentHashMap<>(); /* by attempt: as sent */
    private final Thread thread = new Thread(this::run, "duopoly-guest");
    private volatile Selector selector; /* null: there is no connection */
    private volatile boolean over;
    /* Of the thread: */
    private final ArrayDeque<Word> asked = new ArrayDeque<>(); /* not answered yet, in order */
    private final ByteBuffer in = ByteBuffer.allocate(MESSAGE_MOST);
    private boolean silent; /* the log has said why there is no connection */

    private Guest(String path, Message hello) {
        this.path = path;
        this.hello = hello;
        thread.setDaemon(true);
        thread.start();
    }

    /** Null if the configuration names no socket. */
    public static Guest of(SparkConf conf, String executor) {
        String path = conf.get(SOCKET, "");
        if (path.isEmpty())
            return null;
        return new Guest(path, new Message().name(1, conf.getAppId(), 63).name(2, executor, 31).number(3, conf.getInt("spark.executor.cores", 1)));
    }

    /** Of the calling thread. */
    public void taskBegins() {
        TaskContext task = TaskContext.get();
        long attempt = task.taskAttemptId() & 0xffffffffL;
        Message body = begin(task, attempt);
        running.put(attempt, body);
        task.addTaskCompletionListener((TaskCompletionListener) ended -> taskEnds(attempt));
        Word word = new Word(TASK, body);
        if (say(word))
            await(word);
    }

    private boolean say(Word word) {
        Selector waits = selector;
        if (waits == null || !queue.offer(word))
            return false;
        waits.wakeup();
        return true;
    }

    private static void await(Word word) {
        try {
            word.told.await(WAIT_MS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); /* the task is being killed */
        }
    }

    private static Message begin(TaskContext task, long attempt) {
        String known = task.getLocalProperty(STAGE + task.stageId());
        String[] numbers = known == null ? new String[] {} : known.split(" ");
        Message body = new Message().number(1, attempt);
        if (numbers.length != 2)
            return body.number(4, NOWHERE);
        return body.number(4, Long.parseLong(numbers[0])).number(5, Long.parseLong(numbers[1])).number(6, task.partitionId());
    }

    private void taskEnds(long attempt) {
        running.remove(attempt);
        say(new Word(TASK, new Message().number(1, attempt).flag(2, true)));
    }

    @Override
    public void close() {
        over = true;
        thread.interrupt();
    }

    private void run() {
        while (!over) {
            try (SocketChannel to = SocketChannel.open(UnixDomainSocketAddress.of(path)); Selector waits = Selector.open()) {
                to.configureBlocking(false);
                to.register(waits, SelectionKey.OP_READ);
                serve(to, waits);
            } catch (Throwable e) {
                if (!over && !silent)
                    LOG.warn("duopoly's agent hears nothing of this executor's tasks ({}: {}); it is tried again", path, e.toString());
                silent = true;
            }
            selector = null;
            for (Word word; (word = queue.poll()) != null;)
                word.told.countDown();
            asked.forEach(word -> word.told.countDown());
            asked.clear();
            pause();
        }
    }

    private void pause() {
        try {
            Thread.sleep(AGAIN_MS);
        } catch (InterruptedException e) {
            LOG.debug("the executor ends");
        }
    }

    private void serve(SocketChannel to, Selector waits) throws IOException {
        in.clear();
        ask(to, new Word(HELLO, hello));
        while (!asked.isEmpty())
            hear(to, waits);
        selector = waits;
        for (Message body : running.values())
            ask(to, new Word(TASK, body));
        silent = false;
        while (!over) {
            hear(to, waits);
            for (Word word; (word = queue.poll()) != null;)
                ask(to, word);
        }
    }

    /* So few are under way that the socket always has space, unless the agent hangs. */
    private void ask(SocketChannel to, Word word) throws IOException {
        Message envelope = new Message().number(1, VERSION).part(word.kind, word.body);
        ByteBuffer frame = ByteBuffer.allocate(4 + envelope.length()).putInt(envelope.length()).put(envelope.bytes()).flip();
        asked.add(word);
        if (to.write(frame) < frame.limit())
            throw new IOException("it does not read");
    }

    private void hear(SocketChannel from, Selector waits) throws IOException {
        waits.select();
        waits.selectedKeys().clear();
        if (from.read(in) < 0)
            throw new EOFException("it has gone");
        in.flip();
        while (in.remaining() >= 4 && in.remaining() - 4 >= in.getInt(in.position())) {
            byte[] answer = new byte[in.getInt()];
            in.get(answer);
            answered(asked.remove(), new Fields(answer));
        }
        in.compact();
        if (!in.hasRemaining())
            throw new IOException("a message that is too long");
    }

    private static void answered(Word word, Fields answer) throws IOException {
        while (answer.next())
            if (answer.field() == REFUSED && word.kind == HELLO)
                throw new IOException(reason(answer.part()));
        word.told.countDown();
    }

    private static String reason(Fields refused) {
        String text = "it is refused";
        while (refused.next())
            if (refused.field() == 2)
                text = refused.text();
        return text;
    }
}
