package duopoly.spark;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.Pool;
import org.apache.spark.scheduler.Schedulable;
import org.apache.spark.scheduler.SchedulableBuilder;
import org.apache.spark.scheduler.Stage;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.TaskSet;
import org.apache.spark.scheduler.TaskSetManager;
import org.apache.spark.util.Clock;
import org.apache.spark.util.SystemClock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Enumeration;
import scala.Option;
import scala.collection.mutable.HashMap;

/**
 * Holds tasks that would receive a shuffle until duopoly allows them, and makes Spark take jobs in
 * duopoly's order (under FIFO; pools keep theirs). It is installed where Spark puts a stage's tasks
 * into its pools, whatever the cluster manager: each stage gets tasks that ask first (GatedTasks).
 * Barrier stages, copies of running tasks, streams and stages without a shuffle to read never wait,
 * except for a slot that has just become free (Slots) and for one that duopoly has allowed to
 * another task. Stages without a shuffle to read, for whose tasks no host is better than another,
 * may be bound by duopoly: their tasks then start where they are allowed, too.
 *
 * After any failure Spark continues as without the gate: no valid snapshot, a stage that duopoly
 * opened or does not know, an exception. Nothing waits if no task of the application has run for
 * ONLY_NS. Spark's threads wait for no input or output here.
 */
final class Gate implements SchedulableBuilder, Session.Follower {
    private static final Logger LOG = LoggerFactory.getLogger(Gate.class);
    private static final String WANTED = "spark.duopoly.gate"; /* false, order, hold, true: both */
    private static final long ONLY_NS = 500_000_000L;
    private static final long USE_NS = 500_000_000L;     /* how long an allowed task's slot is
                                                          * reserved for it */
    private static final long UNKNOWN_NS = 500_000_000L; /* events come after what they report */

    private final Allows allows = new Allows();
    private final Slots slots;
    private final boolean orders;
    private final boolean holds;
    private final String whyNot;
    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor(run -> {
        Thread thread = new Thread(run, "duopoly-gate");
        thread.setDaemon(true);
        return thread;
    });
    private TaskSchedulerImpl scheduler;
    private SchedulableBuilder spark;
    /* the scheduler's own, by stage and attempt */
    private HashMap<Object, HashMap<Object, TaskSetManager>> managers;
    private volatile Map<Integer, Job.Stage> stages = Map.of();
    private volatile Map<Long, Job.Stage> numbered = Map.of();
    private volatile boolean broken; /* nothing is held from here on */
    private final AtomicBoolean left = new AtomicBoolean(); /* a slot was left unused, or may be
                                                             * used now: Spark should offer it again
                                                             */
    /* All below: under the scheduler's lock. */
    private long idleSinceNs; /* 0: something runs */
    private long idleBefore;  /* no task from this one on has begun since then */
    private boolean ordered;  /* jobs are, by duopoly */

    /** If it is wanted and fits this Spark, the scheduler asks from here on. */
    Gate(SparkContext context, Slots slots) {
        this.slots = slots;
        String wanted = context.conf().get(WANTED, "false").trim().toLowerCase(Locale.ROOT);
        boolean both = wanted.equals("true");
        boolean fits = both || wanted.equals("order") || wanted.equals("hold");
        String why = fits ? "" : "the gate is off: " + WANTED;
        if (!fits && !wanted.equals("false"))
            LOG.warn("duopoly holds no task back: {} is \"{}\", must be false, order, hold or true", WANTED, wanted);
        if (fits)
            try {
                install(context);
            } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
                fits = false;
                why = "gate inactive: " + e;
                LOG.warn("duopoly holds no task back, {}", why);
            }
        orders = fits && !wanted.equals("hold");
        holds = fits && !wanted.equals("order");
        whyNot = fits && !holds ? "the gate puts jobs in order only: " + WANTED : why;
    }

    /** Why it holds nothing; empty: it is in place. */
    String whyNot() {
        return whyNot;
    }

    /** Whether stages without a shuffle may be bound. WHY not if Spark excludes hosts: then it alone
     * knows where a task may run. */
    boolean binds() {
        return holds && scheduler.healthTrackerOpt().isEmpty();
    }

    /** The stages that duopoly knows, by Spark's numbers and by its own. */
    void follow(Map<Integer, Job.Stage> stages, Map<Long, Job.Stage> numbered) {
        this.stages = stages;
        this.numbered = numbered;
    }

    /* Throws if this Spark differs from those that it was written for; then nothing is changed. */
    @SuppressWarnings("unchecked")
    private void install(SparkContext context) throws ReflectiveOperationException {
        scheduler = (TaskSchedulerImpl) context.taskScheduler();
        Field own = TaskSchedulerImpl.class.getDeclaredField("taskSetsByStageIdAndAttempt");
        Method get = TaskSchedulerImpl.class.getDeclaredMethod("schedulableBuilder");
        Method set = TaskSchedulerImpl.class.getDeclaredMethod("schedulableBuilder_$eq", SchedulableBuilder.class);
        TaskSetManager.class.getDeclaredMethod("dequeueTaskHelper", String.class, String.class, Enumeration.Value.class, boolean.class);
        Class.forName(GatedTasks.class.getName()); /* the first stage does not wait for it */
        own.setAccessible(true);
        get.setAccessible(true);
        set.setAccessible(true);
        synchronized (scheduler) {
            managers = (HashMap<Object, HashMap<Object, TaskSetManager>>) own.get(scheduler);
            spark = (SchedulableBuilder) get.invoke(scheduler);
            set.invoke(scheduler, this);
        }
    }

    static Clock clock() {
        return new SystemClock();
    }

    /** An unexpected exception in one of Spark's threads: from here on nothing is held. */
    void failed(Throwable e) {
        if (!broken)
            LOG.warn("duopoly's gate is out of order, Spark schedules as without it: {}", e.toString());
        broken = true;
    }

    // ---- Spark's side, under the scheduler's lock ----

    @Override
    public Pool rootPool() {
        return spark.rootPool();
    }

    @Override
    public void buildPools() {
        spark.buildPools();
    }

    @Override
    public void addTaskSetManager(Schedulable made, Properties properties) {
        Schedulable tasks = replacement(made);
        if (ordered && tasks instanceof TaskSetManager)
            place((TaskSetManager) tasks);
        spark.addTaskSetManager(tasks, properties);
    }

    private Schedulable replacement(Schedulable made) {
        try {
            if (broken || !holds || !(made instanceof TaskSetManager))
                return made;
            TaskSetManager manager = (TaskSetManager) made;
            TaskSet set = manager.taskSet();
            GatedTasks tasks = new GatedTasks(this, scheduler, manager, readsShuffle(set.stageId()));
            managers.apply(set.stageId()).put(set.stageAttemptId(), tasks);
            return tasks;
        } catch (RuntimeException | LinkageError e) {
            failed(e);
            return made;
        }
    }

    private boolean readsShuffle(int stageId) {
        Option<Stage> stage = scheduler.dagScheduler().stageIdToStage().get(stageId);
        return stage.isDefined() && stage.get().parents().nonEmpty();
    }

    Job.Stage stageOf(TaskSet set) {
        return stages.get(set.stageId());
    }

    /** Whether these wait for allows, now. */
    boolean holds(GatedTasks tasks) {
        long now = System.nanoTime();
        Job.Stage stage = stageOf(tasks.taskSet());
        if (broken || !(tasks.readsShuffle || tasks.bindable) || (stage != null && stage.ungated) || isOnlyWork(now))
            return false;
        if (!tasks.readsShuffle)
            return stage != null && !stage.isPartial() && allows.isBound(stage.job.number, stage.number, now);
        if (stage == null)
            return allows.isValid(now) && now - tasks.sinceNs < UNKNOWN_NS;
        return allows.hold(stage.job.number, stage.number, now);
    }

    /** Whether a free slot is reserved for a task that waits for an allow, now. */
    boolean keeps(String executor, String host) {
        long now = System.nanoTime();
        if (broken || !allows.isValid(now) || isOnlyWork(now))
            return false;
        if (!slots.isKept(executor, now) && !allows.waits(host, this::isForHeld, USE_NS, now))
            return false;
        offerSoon();
        return true;
    }

    /** Whether tasks that may be bound wait for duopoly's first word on them, now. */
    boolean awaits(GatedTasks tasks) {
        long now = System.nanoTime();
        if (!tasks.bindable || now - tasks.sinceNs >= Slots.ANSWER_NS || broken || !allows.isValid(now))
            return false;
        Job.Stage stage = stageOf(tasks.taskSet());
        if ((stage != null && (stage.ungated || stage.isPartial() || slots.isAnswered(stage.offeredBy()))) || isOnlyWork(now))
            return false;
        offerSoon();
        return true;
    }

    private void offerSoon() {
        if (!left.getAndSet(true))
            clock.schedule(this::offerLeft, Slots.ANSWER_NS, TimeUnit.NANOSECONDS);
    }

    /* Other tasks start where Spark wants. */
    private boolean isForHeld(Allows.Allow allow) {
        Job.Stage stage = numbered.get(Allows.key(allow.job, allow.stage));
        return stage != null && !stage.ungated && (stage.parents.length > 0 || allows.isBound(allow.job, allow.stage, System.nanoTime()));
    }

    void free(String executor, long task) {
        slots.free(executor, task, System.nanoTime());
    }

    private void offerLeft() {
        if (left.getAndSet(false))
            scheduler.backend().reviveOffers();
    }

    private boolean isOnlyWork(long now) {
        long next = scheduler.nextTaskId().get();
        if (rootPool().runningTasks() > 0)
            idleSinceNs = 0;
        else if (idleSinceNs == 0 || next != idleBefore)
            idleSinceNs = now;
        idleBefore = next;
        return idleSinceNs != 0 && now - idleSinceNs >= ONLY_NS;
    }

    Allows.Allow find(Job.Stage stage, String host) {
        return stage == null ? null : allows.find(stage.job.number, stage.number, host, System.nanoTime());
    }

    void used(Job.Stage stage, int partition, Allows.Allow allow) {
        allows.use(allow);
        stage.allowed.put(partition, allow.number);
        offerLeft();
    }

    // ---- duopoly's side, on the session's thread ----

    @Override
    public void take(Fields snapshot) {
        if (broken || !(orders || holds))
            return;
        boolean reordered = allows.take(snapshot, System.nanoTime());
        if (reordered && orders)
            order(true);
        left.set(true);
    }

    @Override
    public void answered(long number) {
        slots.answered(number);
        offerLeft();
    }

    /* The last snapshot stays valid for a while. */
    @Override
    public void alone() {
        slots.forget();
        if (orders && !allows.isValid(System.nanoTime()))
            order(false);
    }

    /* Another job of this application may come before or after this one. */
    @Override
    public void over() {
        broken = true;
    }

    private void order(boolean ours) {
        synchronized (scheduler) {
            if (!ours && !ordered)
                return;
            ordered = ours;
            managers.valuesIterator().foreach(attempts -> {
                attempts.valuesIterator().foreach(tasks -> {
                    place(tasks);
                    return null;
                });
                return null;
            });
        }
    }

    /* Among the tasks of all jobs, under FIFO: the least first. */
    private void place(TaskSetManager tasks) {
        Job.Stage stage = stageOf(tasks.taskSet());
        tasks.priority_$eq(!ordered ? tasks.taskSet().priority() : allows.place(stage == null ? -1 : stage.job.number));
    }
}
