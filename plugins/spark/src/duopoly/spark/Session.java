package duopoly.spark;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The application's session with the controller, through the agent's Unix socket
 * (schemas/duopoly.proto, "frameworks"): facts are sent in the order in which they came. Two
 * threads of its own do all input and output. say() never waits: it puts a fact into a queue of
 * QUEUE_MOST, and does nothing without a session. If the queue is full or the connection ends,
 * everything is reported again by a new session, tried every AGAIN_MS; Spark notices none of it. A
 * newer session of the same application ends this one for good.
 */
final class Session implements Fact.Teller, AutoCloseable {
    /** The state to report when a session begins. */
    interface Source {
        /** Everything; from then on each fact is said. Called on the session's thread. */
        List<Fact> whole(Runnable begin);
    }

    /** Receives messages, on the session's threads. */
    interface Follower {
        /** What the application may start (Snapshot). */
        void take(Fields snapshot);

        /**
         * All messages up to this one have taken effect; snapshots that came before reflect them.
         */
        void answered(long number);

        /** There is no session, although there was one a moment ago. */
        void alone();

        /**
         * There will be no more sessions: the application is over, or another plug-in of it has
         * taken its place.
         */
        void over();
    }

    private static final Logger LOG = LoggerFactory.getLogger(Session.class);
    private static final int VERSION = 1;
    private static final int AGAIN_MS = 1000;
    private static final int LAST_MS = 5000; /* for the last answer */
    private static final int QUEUE_MOST = 65536;
    private static final int WINDOW = 2048;       /* of the 4096 that may be unanswered */
    private static final int MESSAGE_MOST = 65536;
    /* Fields of Envelope. */
    private static final int WELCOME = 30, REFUSED = 31, ACKNOWLEDGE = 40, SNAPSHOT = 100;
    /* Reasons of Refused after which another try makes no sense. */
    private static final int REASON_VERSION = 1, REASON_IDENTITY = 2;

    private final String path;
    private final String name;
    private final long boot;
    private final boolean holds;
    private final String text;
    private final Source source;
    private final Follower follower;
    private final Thread thread = new Thread(this::run, "duopoly-session");

    /* All below: under the monitor. */
    private final ArrayDeque<Fact> queue = new ArrayDeque<>();
    private SocketChannel channel;
    private boolean live;      /* facts are queued */
    private boolean behind;    /* some were not */
    private boolean over;
    private boolean welcomed;
    private boolean silent;    /* the log has said why there is no session */
    private long hellos;
    private long epoch;
    private long heartbeatMs;
    private long sent, answered, received, acknowledged;

    /**
     * `holds`: tasks wait until they are allowed. `text`: why they do not, and which transfers
     * cannot be marked.
     */
    Session(String path, String name, long boot, boolean holds, String text, Source source, Follower follower) {
        this.path = path;
        this.name = name;
        this.boot = boot;
        this.holds = holds;
        this.text = text;
        this.source = source;
        this.follower = follower;
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    synchronized void say(Fact fact) {
        if (!live)
            return;
        queue.add(fact);
        if (queue.size() > QUEUE_MOST) {
            queue.clear();
            live = false;
            behind = true;
        }
        notifyAll();
    }

    @Override
    public void close() {
        synchronized (this) {
            over = true;
            notifyAll();
        }
        try {
            thread.join(LAST_MS); /* the last words are still received */
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        synchronized (this) {
            end();
        }
    }

    private void run() {
        while (going()) {
            try {
                session();
            } catch (Throwable e) {
                lost(e);
            }
            synchronized (this) {
                end();
            }
            pause();
            follower.alone();
        }
        follower.over();
    }

    private synchronized boolean going() {
        return !over;
    }

    private synchronized void pause() {
        try {
            if (!over)
                wait(AGAIN_MS);
        } catch (InterruptedException e) {
            over = true;
        }
    }

    private synchronized void lost(Throwable why) {
        if (!over && !silent)
            LOG.warn("duopoly has no session ({}: {}); Spark goes on without it, and it is tried again", path, why.toString());
        silent = true;
    }

    /* The connection has ended, and nothing is kept for it. */
    private void end() {
        live = false;
        queue.clear();
        if (channel == null)
            return;
        try {
            channel.close();
        } catch (IOException e) {
            LOG.debug("closing {}", path, e);
        }
        channel = null;
        notifyAll();
    }

    private void session() throws IOException, InterruptedException {
        SocketChannel to = SocketChannel.open(UnixDomainSocketAddress.of(path));
        synchronized (this) {
            channel = to;
            behind = false;
            sent = answered = received = acknowledged = epoch = 0;
            welcomed = false;
        }
        Thread reader = new Thread(() -> read(to), "duopoly-session-reader");
        reader.setDaemon(true);
        reader.start();
        try {
            hello();
            for (Fact fact : source.whole(this::begin))
                fact.tell(this);
            tell(Fact.REPLAYED, new Message());
            for (Fact fact; (fact = next()) != null;)
                fact.tell(this);
        } finally {
            synchronized (this) {
                end();
            }
            reader.join();
        }
    }

    private synchronized void begin() {
        live = channel != null;
    }

    private void hello() throws IOException, InterruptedException {
        write(Fact.HELLO, false, new Message().number(1, VERSION).number(2, VERSION).name(3, name, 63).number(4, boot).number(5, ++hellos)
                                           .flag(7, holds).text(8, text, 127).flag(9, true));
        synchronized (this) {
            while (!welcomed && channel != null)
                wait();
            connected();
            silent = false;
        }
        LOG.info("duopoly: {} has a session through {}", name, path);
    }

    private void connected() throws IOException {
        if (channel == null)
            throw new EOFException("the session ended");
        if (behind)
            throw new IOException("facts came faster than they were taken in");
    }

    /**
     * The next fact; sends acknowledgements and signs of life meanwhile; null: the application is
     * over.
     */
    private Fact next() throws IOException, InterruptedException {
        while (true) {
            synchronized (this) {
                if (queue.isEmpty() && !isTold() && !behind && channel != null && received == acknowledged)
                    wait(heartbeatMs);
                connected();
                if (!queue.isEmpty())
                    return queue.poll();
                if (isTold())
                    return null;
            }
            write(ACKNOWLEDGE, false, new Message());
        }
    }

    /* WHY not when all is sent: what is under way to the controller is lost with the connection. */
    private boolean isTold() {
        return over && answered == sent;
    }

    @Override
    public void tell(int kind, Message body) throws IOException {
        try {
            while (full())
                write(ACKNOWLEDGE, false, new Message());
        } catch (InterruptedException e) {
            throw new IOException(e);
        }
        write(kind, true, body);
    }

    @Override
    public synchronized long told() {
        return sent;
    }

    /* Waits until the controller has acknowledged enough; true: something must be acknowledged
     * meanwhile. */
    private synchronized boolean full() throws IOException, InterruptedException {
        if (sent - answered < WINDOW)
            return false;
        if (received == acknowledged && channel != null && !behind)
            wait(heartbeatMs);
        connected();
        return true;
    }

    private void write(int kind, boolean numbered, Message body) throws IOException {
        SocketChannel to;
        Message envelope = new Message().number(1, VERSION);
        synchronized (this) {
            connected();
            to = channel;
            envelope.number(2, epoch).number(3, numbered ? ++sent : 0).number(4, received).part(kind, body);
            acknowledged = received;
        }
        ByteBuffer frame = ByteBuffer.allocate(4 + envelope.length()).putInt(envelope.length()).put(envelope.bytes()).flip();
        while (frame.hasRemaining())
            to.write(frame);
    }

    private void read(SocketChannel from) {
        try (DataInputStream in = new DataInputStream(Channels.newInputStream(from))) {
            while (true) {
                int length = in.readInt();
                if (length < 1 || length > MESSAGE_MOST)
                    throw new IOException("a message of " + length + " bytes");
                byte[] message = new byte[length];
                in.readFully(message);
                follow(new Fields(message));
                follower.answered(take(new Fields(message))); /* which acknowledges it */
            }
        } catch (IOException | RuntimeException e) {
            synchronized (this) {
                if (channel == from)
                    end();
            }
        }
    }

    private void follow(Fields envelope) {
        while (envelope.next())
            if (envelope.field() == SNAPSHOT)
                follower.take(envelope.part());
    }

    private synchronized long take(Fields envelope) {
        while (envelope.next())
            switch (envelope.field()) {
            case 2:
                epoch = envelope.number();
                break;
            case 3:
                received = envelope.number() != 0 ? envelope.number() : received;
                break;
            case 4:
                answered = envelope.number();
                break;
            case WELCOME:
                welcome(envelope.part());
                break;
            case REFUSED:
                refused(envelope.part());
                break;
            default:
                break;
            }
        notifyAll();
        return answered;
    }

    private void welcome(Fields welcome) {
        heartbeatMs = AGAIN_MS;
        while (welcome.next())
            if (welcome.field() == 3 && welcome.number() > 0)
                heartbeatMs = welcome.number();
        welcomed = true;
    }

    /* A fact was refused: it is left out, and the others count. */
    private void refused(Fields refused) {
        long reason = 0;
        long sequence = 0;
        String text = "";
        while (refused.next())
            switch (refused.field()) {
            case 1:
                reason = refused.number();
                break;
            case 2:
                text = refused.text();
                break;
            case 3:
                sequence = refused.number();
                break;
            default:
                break;
            }
        if (sequence != 0) {
            LOG.debug("duopoly refused a fact: {}", text);
            return;
        }
        over |= reason == REASON_VERSION || reason == REASON_IDENTITY;
        if (!silent)
            LOG.warn("duopoly refuses {}: {}; Spark goes on without it{}", name, text, over ? "" : ", and it is tried again");
        silent = true;
        end();
    }
}
