package duopoly.spark;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.spark.Resubmitted$;
import org.apache.spark.scheduler.JobSucceeded$;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.scheduler.TaskInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The state of the jobs that are not over, from Spark's events: kept, so that a new session can
 * report all of it, and reported as it changes. Spark's threads only change the state and queue a
 * fact: no input or output, no exception. Nothing is kept of an ended job.
 */
final class Facts extends SparkListener implements Session.Source {
    private static final Logger LOG = LoggerFactory.getLogger(Facts.class);
    private static final String EXECUTION = "spark.sql.execution.id";
    private static final String DESCRIPTION = "spark.job.description";
    private static final String STREAM = "sql.streaming.queryId";
    /* not in Spark's core */
    private static final String EXECUTION_END = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd";
    private static final int HEARD_SECONDS = 10; /* its end may be dropped like any event */

    private final String application;
    private final boolean gated;
    private final boolean binds;
    private final Shuffles shuffles;
    private final Slots slots;
    private final Executors executors;
    private final CountDownLatch heard = new CountDownLatch(1); /* all events */
    private Session session;
    private boolean failed; /* and the log says so */

    /* by Spark's ids: whose job runs each; Spark's scheduler reads it */
    private final Map<Integer, Job.Stage> stages = new ConcurrentHashMap<>();
    /* by duopoly's (Allows.key), too */
    private final Map<Long, Job.Stage> numbered = new ConcurrentHashMap<>();

    /* All below: under the monitor. */
    /* by Spark's jobs: several may be one */
    private final Map<Integer, Job> jobs = new LinkedHashMap<>();
    private final Map<Long, Job> executions = new HashMap<>();
    /* that run, by Spark's task ids */
    private final Map<Long, Job.Attempt> attempts = new LinkedHashMap<>();

    /** `gated`: allows are obeyed; `binds`: so are they of stages that are bound. */
    Facts(String application, boolean gated, boolean binds, Shuffles shuffles, Slots slots, Executors executors) {
        this.application = application;
        this.gated = gated;
        this.binds = binds;
        this.shuffles = shuffles;
        this.slots = slots;
        this.executors = executors;
    }

    void toldTo(Session session) {
        this.session = session;
    }

    Map<Integer, Job.Stage> stages() {
        return stages;
    }

    Map<Long, Job.Stage> numbered() {
        return numbered;
    }

    private void say(Fact fact) {
        session.say(fact);
    }

    /* Spark's listener bus would log each one's trace, and continue. */
    private synchronized void quietly(Runnable change) {
        try {
            change.run();
        } catch (RuntimeException | LinkageError e) {
            if (!failed)
                LOG.warn("duopoly could not read one of Spark's events, what it knows of a job is not whole", e);
            failed = true;
        }
    }

    @Override
    public synchronized List<Fact> whole(Runnable begin) {
        List<Fact> all = new ArrayList<>();
        executors.whole(all::add);
        for (Job job : current()) {
            all.add(job.fact());
            for (Job.Stage stage : childrenFirst(job.stages.values()))
                stage.announce(all::add);
            for (Job.Stage stage : job.stages.values()) {
                for (Job.Attempt attempt : stage.done)
                    if (attempt != null)
                        all.add(attempt.fact(Job.TASK_DONE, 0));
                if (stage.offered())
                    stage.sizes(shuffles, all::add);
            }
        }
        attempts.values().forEach(attempt -> all.add(attempt.fact(Job.TASK_STARTED, 0)));
        begin.run();
        return all;
    }

    private Collection<Job> current() {
        List<Job> current = new ArrayList<>(executions.values());
        for (Job job : jobs.values())
            if (job.execution < 0)
                current.add(job);
        current.sort(Comparator.comparingInt(job -> job.number));
        return current;
    }

    // ---- executors ----

    @Override
    public void onExecutorAdded(SparkListenerExecutorAdded event) {
        quietly(() -> executors.added(event.executorId(), event.executorInfo().executorHost(), event.executorInfo().totalCores(), this::say));
    }

    @Override
    public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
        quietly(() -> say(executors.removed(event.executorId())));
    }

    // ---- the application's end ----

    @Override
    public void onApplicationEnd(SparkListenerApplicationEnd event) {
        heard.countDown();
    }

    /**
     * The application ends and gives its executors back, after all earlier events, for which
     * Spark's own end waits too.
     */
    void over() throws InterruptedException {
        if (!heard.await(HEARD_SECONDS, TimeUnit.SECONDS))
            LOG.warn("duopoly has not heard all of Spark's events: it takes some jobs for unfinished ones");
        quietly(() -> executors.over(this::say));
    }

    // ---- jobs ----

    @Override
    public void onJobStart(SparkListenerJobStart event) {
        quietly(() -> jobStart(event));
    }

    private void jobStart(SparkListenerJobStart event) {
        Properties properties = event.properties() != null ? event.properties() : new Properties();
        List<StageInfo> infos = new ArrayList<>(CollectionConverters.asJava(event.stageInfos()));
        infos.sort(Comparator.comparingInt(StageInfo::stageId)); /* parents have smaller ids */
        Job job = job(event.jobId(), properties, infos);
        job.running++;
        jobs.put(event.jobId(), job);
        Map<StageInfo, Integer> places = places(infos, job.stages.size());
        List<Job.Stage> made = new ArrayList<>();
        for (StageInfo info : infos)
            if (!job.stages.containsKey(info.stageId()))
                made.add(stageAdd(job, info, properties.getProperty(STREAM) != null, history(job, info, places.get(info))));
        for (Job.Stage stage : childrenFirst(made))
            stage.announce(this::say);
    }

    /* WHY: what is announced without parents may run at once, and where is decided by what comes
     * after it. */
    private static List<Job.Stage> childrenFirst(Collection<Job.Stage> stages) {
        List<Job.Stage> reversed = new ArrayList<>(stages);
        Collections.reverse(reversed);
        return reversed;
    }

    /* In the order in which the program made their data. WHY not by id: parents of one stage have
     * ids in the order of a hash set, which differs from run to run. */
    private static Map<StageInfo, Integer> places(List<StageInfo> infos, int first) {
        List<StageInfo> made = new ArrayList<>(infos);
        made.sort(Comparator.comparingInt(info -> CollectionConverters.asJava(info.rddInfos()).stream().mapToInt(rdd -> rdd.id()).max().orElse(0)));
        Map<StageInfo, Integer> places = new HashMap<>();
        made.forEach(info -> places.put(info, first + places.size()));
        return places;
    }

    private Job job(int number, Properties properties, List<StageInfo> infos) {
        String execution = properties.getProperty(EXECUTION);
        long id = execution == null ? -1 : Long.parseLong(execution);
        Job known = executions.get(id);
        if (known != null)
            return known;
        String called = infos.isEmpty() ? "" : infos.get(infos.size() - 1).name();
        Job job = new Job(number, printable(properties.getProperty(DESCRIPTION, called), number), id);
        if (id >= 0)
            executions.put(id, job);
        say(job.fact());
        return job;
    }

    /* A valid name for duopoly, never the same twice. */
    private static String printable(String text, int number) {
        String clean = text.trim().replaceAll("[^!-~]+|[/\"'`\\\\]+", "-");
        return number + "-" + clean.substring(0, Math.min(clean.length(), 24));
    }

    private Job.Stage stageAdd(Job job, StageInfo info, boolean stream, long history) {
        Job.Stage[] parents = CollectionConverters.asJava(info.parentIds()).stream().map(id -> job.stages.get(((Number) id).intValue()))
                                  .filter(Objects::nonNull).toArray(Job.Stage[]::new);
        boolean barrier = CollectionConverters.asJava(info.rddInfos()).stream().anyMatch(rdd -> rdd.isBarrier());
        boolean partial = info.rddInfos().nonEmpty() && info.rddInfos().head().numPartitions() != info.numTasks();
        Option<Object> shuffle = info.shuffleDepId();
        Job.Stage stage = new Job.Stage(job, info.numTasks(), parents, shuffle.isEmpty() ? -1 : ((Number) shuffle.get()).intValue(),
                                        !gated || barrier || stream, partial, history, info.stageId(), info.name(),
                                        parents.length == 0 && !partial ? shuffles.inputs(info.stageId(), info.numTasks()) : null);
        job.stages.put(info.stageId(), stage);
        stages.putIfAbsent(info.stageId(), stage);
        numbered.put(Allows.key(job.number, stage.number), stage);
        return stage;
    }

    /* FNV-1a; job names carry a number of this run. */
    private long history(Job job, StageInfo info, int place) {
        String text = application + '\n' + job.name.substring(job.name.indexOf('-')) + '\n' + place + '\n' + info.name();
        long hash = 0xcbf29ce484222325L;
        for (int i = 0; i < text.length(); i++)
            hash = (hash ^ text.charAt(i)) * 0x100000001b3L;
        return hash == 0 ? 1 : hash;
    }

    @Override
    public void onJobEnd(SparkListenerJobEnd event) {
        quietly(() -> {
            Job job = jobs.remove(event.jobId());
            if (job == null)
                return;
            job.running--;
            if (job.execution < 0)
                jobEnd(job, event.jobResult() == JobSucceeded$.MODULE$ ? Job.DONE : Job.FAILED);
            else if (!executions.containsKey(job.execution))
                jobForget(job);
        });
    }

    @Override
    public void onOtherEvent(SparkListenerEvent event) {
        if (event.getClass().getName().equals(EXECUTION_END))
            quietly(() -> executionEnd(event));
    }

    private void executionEnd(SparkListenerEvent event) {
        try {
            Job job = executions.remove((Long) event.getClass().getMethod("executionId").invoke(event));
            Option<?> error = (Option<?>) event.getClass().getMethod("errorMessage").invoke(event);
            if (job != null)
                jobEnd(job, error.isEmpty() || error.get().toString().isEmpty() ? Job.DONE : Job.FAILED);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private void jobEnd(Job job, int outcome) {
        say(job.end(outcome));
        if (job.running == 0)
            jobForget(job);
    }

    private void jobForget(Job job) {
        stages.values().removeIf(stage -> stage.job == job);
        job.stages.values().forEach(stage -> numbered.remove(Allows.key(job.number, stage.number)));
        attempts.values().removeIf(attempt -> attempt.stage.job == job);
    }

    // ---- stages and tasks ----

    @Override
    public void onStageSubmitted(SparkListenerStageSubmitted event) {
        quietly(() -> {
            Job.Stage stage = stages.get(event.stageInfo().stageId());
            if (stage == null)
                return;
            stage.attempt = event.stageInfo().attemptNumber();
            if (stage.attempt > 0)
                outputsLost(stage);
            else if (stage.parents.length == 0 && !stage.isPartial())
                stage.located(Blocks.of(event.stageInfo(), stage.tasks));
            stage.bindable(binds && hasNoBetterHost(event.stageInfo(), stage.tasks));
            stage.sizes(shuffles, this::say);
            stage.offer(this::say);
            stage.parentsEnded(this::say);
        });
    }

    @Override
    public void onStageCompleted(SparkListenerStageCompleted event) {
        quietly(() -> {
            Job.Stage stage = stages.get(event.stageInfo().stageId());
            if (stage != null)
                stage.completed(this::say);
        });
    }

    private static boolean hasNoBetterHost(StageInfo info, int tasks) {
        return info.taskLocalityPreferences().size() == tasks && info.taskLocalityPreferences().forall(Seq::isEmpty);
    }

    /* A stage runs again for its missing outputs. */
    private void outputsLost(Job.Stage stage) {
        MapStatus[] there = stage.shuffle < 0 ? new MapStatus[0] : shuffles.outputs(stage.shuffle);
        for (int task = 0; task < there.length && task < stage.tasks; task++)
            if (there[task] == null)
                outputLost(stage, task);
    }

    private void outputLost(Job.Stage stage, int task) {
        if (stage.done[task] != null)
            say(stage.done[task].fact(Job.TASK_OUTPUT_LOST, 0));
        stage.lost(task);
    }

    @Override
    public void onTaskStart(SparkListenerTaskStart event) {
        quietly(() -> {
            TaskInfo info = event.taskInfo();
            Job.Stage stage = stages.get(event.stageId());
            int task = stage == null ? -1 : stage.task(info.partitionId());
            if (task < 0)
                return;
            Job.Attempt attempt = new Job.Attempt(stage, task, info.taskId(), info.host());
            attempts.put(info.taskId(), attempt);
            Long allow = stage.allowed.remove(info.partitionId());
            say(attempt.fact(Job.TASK_STARTED, 0, allow == null ? 0 : allow));
        });
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd event) {
        quietly(() -> {
            if (event.taskInfo() != null)
                taskEnd(event, event.taskInfo());
        });
    }

    private void taskEnd(SparkListenerTaskEnd event, TaskInfo info) {
        Job.Stage stage = stages.get(event.stageId());
        if (event.reason() == Resubmitted$.MODULE$ && stage != null && stage.task(info.partitionId()) >= 0)
            outputLost(stage, stage.task(info.partitionId()));
        Job.Attempt attempt = attempts.remove(info.taskId());
        if (attempt == null)
            return;
        long received = event.taskMetrics() == null ? 0 : event.taskMetrics().shuffleReadMetrics().remoteBytesRead();
        int state = info.successful() ? Job.TASK_DONE : info.killed() ? Job.TASK_KILLED : Job.TASK_FAILED;
        Fact end = attempt.fact(state, received);
        Fact freed = freed(info.executorId(), info.taskId());
        if (state == Job.TASK_DONE) {
            attempt.stage.done(attempt, end, freed, shuffles, this::say);
            return;
        }
        say(end);
        say(freed);
    }

    /* Sends nothing; everything sent before concerns that slot. */
    private Fact freed(String executor, long task) {
        return teller -> slots.told(executor, task, teller.told());
    }
}
