package duopoly.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.scheduler.Task;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.TaskSet;
import org.apache.spark.scheduler.TaskSetManager;
import scala.Enumeration;
import scala.Option;
import scala.Tuple3;

/**
 * Spark's tasks of one stage. Those that will receive a shuffle wait for an allow for the offered
 * host, and so do those that duopoly has bound; others leave slots that duopoly may want, or wants,
 * for another task. Spark's own answer counts if nothing is held (Gate.holds), and for copies of
 * running tasks. Called under the scheduler's lock.
 */
final class GatedTasks extends TaskSetManager {
    private final Gate gate;
    private final Map<Integer, Integer> indexOf = new HashMap<>(); /* by partition */
    final long sinceNs = System.nanoTime();
    final boolean readsShuffle;
    final boolean bindable; /* duopoly may bind them: no host is better for any of them */

    GatedTasks(Gate gate, TaskSchedulerImpl scheduler, TaskSetManager spark, boolean readsShuffle) {
        super(scheduler, spark.taskSet(), scheduler.maxTaskFailures(), scheduler.healthTrackerOpt(), Gate.clock());
        this.gate = gate;
        this.readsShuffle = readsShuffle;
        Task<?>[] tasks = spark.taskSet().tasks();
        boolean placeless = true;
        for (int i = 0; i < tasks.length; i++) {
            indexOf.put(tasks[i].partitionId(), i);
            placeless = placeless && tasks[i].preferredLocations().isEmpty();
        }
        bindable = placeless && !readsShuffle && gate.binds() && spark.taskSet().stageAttemptId() == 0;
    }

    @Override
    public Option<Tuple3<Object, Enumeration.Value, Object>> dequeueTaskHelper(String executor, String host, Enumeration.Value most,
                                                                               boolean speculative) {
        try {
            if (!speculative && !isBarrier()) {
                if (gate.holds(this))
                    return allowed(executor, host, most);
                if (gate.keeps(executor, host) || gate.awaits(this))
                    return Option.empty();
            }
            return super.dequeueTaskHelper(executor, host, most, speculative);
        } catch (RuntimeException | LinkageError e) {
            gate.failed(e);
            return super.dequeueTaskHelper(executor, host, most, speculative);
        }
    }

    private Option<Tuple3<Object, Enumeration.Value, Object>> allowed(String executor, String host, Enumeration.Value most) {
        Job.Stage stage = gate.stageOf(taskSet());
        Allows.Allow allow = gate.find(stage, host);
        if (allow == null)
            return Option.empty();
        Integer meant = stage.isPartial() ? null : indexOf.get(allow.task);
        Option<Tuple3<Object, Enumeration.Value, Object>> chosen =
            meant != null && waits(meant) ? Option.apply(new Tuple3<>(meant, most, false)) : super.dequeueTaskHelper(executor, host, most, false);
        if (chosen.isDefined()) {
            if (taskSet().properties() != null)
                taskSet().properties().setProperty(Guest.STAGE + taskSet().stageId(), stage.job.number + " " + stage.number);
            gate.used(stage, tasks()[(Integer) chosen.get()._1()].partitionId(), allow);
        }
        return chosen;
    }

    /* Spark's first call about its end: the slot is offered next. */
    @Override
    public void removeRunningTask(long task) {
        try {
            if (runningTasksSet().contains(task))
                gate.free(taskInfos().apply(task).executorId(), task);
        } catch (RuntimeException | LinkageError e) {
            gate.failed(e);
        }
        super.removeRunningTask(task);
    }

    /* If some hosts are excluded for some tasks, Spark chooses. */
    private boolean waits(int index) {
        return taskSetExcludelistHelperOpt().isEmpty() && copiesRunning()[index] == 0 && !successful()[index];
    }
}
