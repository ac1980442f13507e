import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Socket;
import org.apache.spark.SparkEnv;

/** A job's input, which lies on hosts: a task reads it from there over the network, but where it runs there itself (blocks.py). */
final class Blocks {
    private static final int PORT = 7300; /* as in blocks.py */

    private Blocks() {}

    static void read(String host, long bytes) {
        if (host.equals(SparkEnv.get().blockManager().blockManagerId().host()))
            return;
        try (Socket socket = new Socket(host, PORT)) {
            new DataOutputStream(socket.getOutputStream()).writeLong(bytes);
            new DataInputStream(socket.getInputStream()).skipNBytes(bytes);
        } catch (IOException e) {
            throw new UncheckedIOException("reading a block of " + host, e);
        }
    }
}
