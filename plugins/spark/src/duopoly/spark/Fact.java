package duopoly.spark;

import java.io.IOException;

/** A fact: made on Spark's threads, sent on the session's, where it may take its time. */
interface Fact {
    /* Fields of Envelope in schemas/duopoly.proto. */
    int HELLO = 90, JOB = 91, STAGE = 92, TASKS = 93, BYTES = 94, TASK = 95, END = 96, REPLAYED = 97, EXECUTOR = 98;

    interface Teller {
        void tell(int kind, Message body) throws IOException;

        /** The number of the last message that was sent. */
        long told();
    }

    void tell(Teller teller) throws IOException;

    static Fact of(int kind, Message body) {
        return teller -> teller.tell(kind, body);
    }
}
