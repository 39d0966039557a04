package dev.nimble.benchmarks.schedule;

import dev.nimble.analysis.Dag;
import dev.nimble.analysis.PathCover;
import dev.nimble.analysis.TransitiveReduction;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** Time to assign streams to layered DAGs of width 16. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@State(Scope.Thread)
public class StreamAssignmentBenchmark {
  /** Nodes. */
  @Param({"1000", "5000", "20000", "100000"})
  public int nodes;

  private Dag dag;

  /** Makes the DAG. */
  @Setup
  public void setUp() {
    dag = LayeredDags.of(nodes, 16, 2.5, 1);
  }

  /** Reduction, matching, and fewest streams. */
  @Benchmark
  public int nimble() {
    return PathCover.of(TransitiveReduction.of(dag)).syncs();
  }

  /** A fresh JGraphT graph for each call, since it reduces in place. */
  @State(Scope.Thread)
  public static class Jgrapht {
    /** Nodes. */
    @Param({"1000", "5000"})
    public int jgraphtNodes;

    private JgraphtAssignment assignment;

    /** Makes the graph. */
    @Setup(Level.Invocation)
    public void setUp() {
      assignment = new JgraphtAssignment(LayeredDags.of(jgraphtNodes, 16, 2.5, 1));
    }
  }

  /** Reduction and matching by JGraphT. */
  @Benchmark
  public int jgrapht(Jgrapht state) {
    return state.assignment.syncs();
  }
}
