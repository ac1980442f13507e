package duopoly.spark;

import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;

/** An application's facts and their session, which run by themselves from here on. */
public final class Application implements AutoCloseable {
    private static final String SOCKET = "spark.duopoly.socket";
    private static final String TASK_CORES = "spark.task.cpus";

    private final Facts facts;
    private final Session session;

    public Application(SparkContext context, String name) {
        String socket = context.conf().get(SOCKET, "");
        if (socket.isEmpty())
            throw new IllegalArgumentException(SOCKET + " is not set: the path of the agent's socket for frameworks");
        Shuffles shuffles = new Shuffles((MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker(), context.dagScheduler());
        Slots slots = new Slots();
        Gate gate = new Gate(context, slots);
        Executors executors = new Executors(context.conf().getInt(TASK_CORES, 1));
        facts = new Facts(context.appName(), gate.whyNot().isEmpty(), gate.binds(), shuffles, slots, executors);
        gate.follow(facts.stages(), facts.numbered());
        String unmarked = Unmarked.why(context.conf());
        String said = gate.whyNot().isEmpty() || unmarked.isEmpty() ? gate.whyNot() + unmarked : gate.whyNot() + "; " + unmarked;
        session = new Session(socket, name, context.startTime(), gate.whyNot().isEmpty(), said, facts, gate);
        facts.toldTo(session);
        context.addSparkListener(facts);
        session.start();
    }

    @Override
    public void close() throws InterruptedException {
        facts.over();
        session.close();
    }
}
