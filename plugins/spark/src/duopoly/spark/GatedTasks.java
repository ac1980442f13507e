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
 * Spark's tasks of one stage, of which each waits for an allow of duopoly's for the host that is offered. Spark's own answer counts
 * wherever nothing is to be held (Gate.decide), and for copies of what runs already. Called under the scheduler's lock.
 */
final class GatedTasks extends TaskSetManager {
    private final Gate gate;
    private final Map<Integer, Integer> indexOf = new HashMap<>(); /* by partition */
    final long sinceNs = System.nanoTime();

    GatedTasks(Gate gate, TaskSchedulerImpl scheduler, TaskSetManager spark) {
        super(scheduler, spark.taskSet(), scheduler.maxTaskFailures(), scheduler.healthTrackerOpt(), Gate.clock());
        this.gate = gate;
        Task<?>[] tasks = spark.taskSet().tasks();
        for (int i = 0; i < tasks.length; i++)
            indexOf.put(tasks[i].partitionId(), i);
    }

    @Override
    public Option<Tuple3<Object, Enumeration.Value, Object>> dequeueTaskHelper(String executor, String host, Enumeration.Value most,
                                                                               boolean speculative) {
        try {
            if (speculative || isBarrier() || !gate.holds(this))
                return super.dequeueTaskHelper(executor, host, most, speculative);
            return allowed(executor, host, most);
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

    /* Where some hosts are excluded for some tasks, Spark chooses. */
    private boolean waits(int index) {
        return taskSetExcludelistHelperOpt().isEmpty() && copiesRunning()[index] == 0 && !successful()[index];
    }
}
