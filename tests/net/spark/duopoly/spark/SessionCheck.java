package duopoly.spark;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The end of a session: what was said last is waited for until it is answered. Ends with 0 where all holds. */
public final class SessionCheck {
    private static final int SEQUENCE = 3, ANSWERED = 4, EPOCH = 2, WELCOME = 30;

    private static void check(boolean holds, String what) {
        if (!holds)
            throw new AssertionError(what);
    }

    /** Nobody. */
    private static final class Follower implements Session.Follower {
        @Override
        public void take(Fields snapshot) {}

        @Override
        public void answered(long number) {}

        @Override
        public void alone() {}

        @Override
        public void over() {}
    }

    private static void send(SocketChannel to, Message envelope) throws IOException {
        to.write(ByteBuffer.allocate(4 + envelope.length()).putInt(envelope.length()).put(envelope.bytes()).flip());
    }

    /** The number of the next message that has one. */
    private static long numbered(DataInputStream in) throws IOException {
        while (true) {
            byte[] message = new byte[in.readInt()];
            in.readFully(message);
            Fields fields = new Fields(message);
            while (fields.next())
                if (fields.field() == SEQUENCE && fields.number() != 0)
                    return fields.number();
        }
    }

    public static void main(String[] words) throws Exception {
        Path path = Files.createTempDirectory("duopoly-session").resolve("socket");
        ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        server.bind(UnixDomainSocketAddress.of(path));
        Session session = new Session(path.toString(), "application", 1, true, "", begin -> {
            begin.run();
            return List.of();
        }, new Follower());
        session.start();
        SocketChannel peer = server.accept();
        DataInputStream in = new DataInputStream(Channels.newInputStream(peer));
        in.readFully(new byte[in.readInt()]); /* HELLO */
        send(peer, new Message().number(1, 1).number(EPOCH, 1).part(WELCOME, new Message().number(3, 1000)));
        check(numbered(in) == 1, "all was told");
        session.say(Fact.of(Fact.END, new Message().number(1, 7)));
        check(numbered(in) == 2, "and what came then");
        send(peer, new Message().number(1, 1).number(EPOCH, 1).number(ANSWERED, 1));
        Thread closing = new Thread(session::close);
        closing.start();
        closing.join(500);
        check(closing.isAlive(), "it has not been answered");
        send(peer, new Message().number(1, 1).number(EPOCH, 1).number(ANSWERED, 2));
        closing.join(4000);
        check(!closing.isAlive(), "it has");
        Files.delete(path);
        Files.delete(path.getParent());
    }
}
