package duopoly.spark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** What is told of a job's stages, in which order, without Spark. Ends with 0 where all holds. */
public final class JobCheck {
    private static final int MAPS = 300, REDUCES = 2;
    private static final String[] PHASES = {"known", "offered", "skipped"};

    private static void check(List<String> told, String... expected) {
        if (!told.equals(List.of(expected)))
            throw new AssertionError(told + ", not " + List.of(expected));
        told.clear();
    }

    /** Each message in words. */
    private static final class Told implements Fact.Teller {
        final List<String> words = new ArrayList<>();

        private static long number(Message body, int field) {
            Fields fields = new Fields(body.bytes());
            while (fields.next())
                if (fields.field() == field)
                    return fields.number();
            return 0;
        }

        private static long count(Message body, int field) {
            Fields fields = new Fields(body.bytes());
            long n = 0;
            while (fields.next())
                n += fields.field() == field ? 1 : 0;
            return n;
        }

        @Override
        public void tell(int kind, Message body) {
            if (kind == Fact.STAGE)
                words.add("stage " + number(body, 2) + " of " + number(body, 3) + " " + PHASES[(int) number(body, 7)]);
            else if (kind == Fact.TASKS)
                words.add("input of " + count(body, 5) + " from " + number(body, 3));
            else
                words.add("task " + number(body, 5) + " is in state " + number(body, 7));
        }

        @Override
        public long told() {
            return words.size();
        }

        void say(Fact fact) {
            try {
                fact.tell(this);
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        }
    }

    private static Job.Stage stage(Job job, int tasks, int shuffle, boolean partial, Job.Stage... parents) {
        Job.Stage stage = new Job.Stage(job, tasks, parents, shuffle, false, partial, 0, job.stages.size(), "", null);
        job.stages.put(stage.number, stage);
        return stage;
    }

    private static Blocks blocks(String host) {
        String[][] hosts = new String[MAPS][];
        java.util.Arrays.fill(hosts, new String[] {host});
        return new Blocks(hosts);
    }

    private static void end(Job.Stage stage, int task, Told told) {
        Job.Attempt attempt = new Job.Attempt(stage, task, task, "h");
        stage.done(attempt, attempt.fact(Job.TASK_DONE, 0), teller -> told.words.add("free"), null, told::say);
    }

    private static String done(int task) {
        return "task " + task + " is in state " + Job.TASK_DONE;
    }

    /** A stage is told after what its tasks read, in how many messages ever; not before it begins where it has no parents. */
    private static void stages() {
        Told told = new Told();
        Job job = new Job(1, "job", -1);
        Job.Stage maps = stage(job, MAPS, 0, false);
        Job.Stage reduces = stage(job, REDUCES, -1, false, maps);
        reduces.announce(told::say);
        maps.announce(told::say);
        check(told.words, "stage 1 of 2 known");
        maps.located(blocks("h"));
        check(told.words);
        maps.offer(told::say);
        String[] whole = {"input of 128 from 0", "input of 128 from 128", "input of 44 from 256", "stage 0 of 300 offered"};
        check(told.words, whole);
        if (maps.offeredBy() != whole.length)
            throw new AssertionError("it was told by message " + maps.offeredBy());
        maps.announce(told::say); /* to a new session */
        check(told.words, whole);
    }

    /** One that never begins is told with the first that needs it. */
    private static void skipped() {
        Told told = new Told();
        Job job = new Job(1, "job", -1);
        Job.Stage reduces = stage(job, REDUCES, -1, false, stage(job, 3, 0, false));
        reduces.offer(told::say);
        check(told.words, "stage 0 of 3 skipped", "stage 1 of 2 offered");
    }

    /** The last end is told when all outputs are known, and the slot after what begins then. */
    private static void ends() {
        Told told = new Told();
        Job job = new Job(1, "job", -1);
        Job.Stage maps = stage(job, 2, 0, false);
        Job.Stage reduces = stage(job, REDUCES, -1, true, maps); /* partial: nobody knows what it receives */
        end(maps, 1, told);
        check(told.words, done(1), "free");
        end(maps, 0, told);
        check(told.words);
        maps.completed(told::say);
        check(told.words, done(0));
        end(maps, 0, told); /* a copy */
        check(told.words, done(0), "free");
        maps.lost(1);
        end(maps, 1, told);
        check(told.words);
        reduces.parentsEnded(told::say); /* also if nobody said that it is complete */
        check(told.words, done(1), "free");
        reduces.offer(told::say);
        told.words.clear();
        maps.lost(0);
        end(maps, 0, told); /* nothing waits for it */
        check(told.words, done(0));
    }

    public static void main(String[] words) {
        stages();
        skipped();
        ends();
    }
}
