package dev.nimble.view;

import com.google.common.collect.ImmutableList;
import com.google.common.primitives.ImmutableIntArray;
import com.google.common.primitives.ImmutableLongArray;
import dev.nimble.analysis.CriticalPath;
import dev.nimble.analysis.Dag;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.plan.Timeline;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What bounds a step, from the times of one replay. Two bounds hold for every schedule of the same
 * kernels: the critical path, and all work spread evenly over the workers. What was lost against
 * them is found on the chain of launches that ended last: from the last launch back, always to that
 * one among its predecessors and its worker's launch before which ended last.
 *
 * <p>All times in nanoseconds. {@code chainNanos + launchNanos + syncNanos + edgeNanos} is {@code
 * totalNanos}.
 *
 * @param totalNanos of the replay
 * @param untimedNanos what a replay takes without timing; 0 if unknown
 * @param launches how many were timed
 * @param workers that ran them
 * @param workNanos the sum of all launches
 * @param pathNanos the length of the critical path
 * @param path the critical path, by node id
 * @param slackNanos how much longer each node may take before the critical path grows
 * @param chain the chain that ended last, by node id, in order of time
 * @param chainNanos the launches of the chain
 * @param launchNanos gaps of the chain between two launches of one worker
 * @param syncNanos gaps of the chain where one worker waited for another
 * @param edgeNanos before the first launch and after the last
 */
record StepBounds(
    long totalNanos,
    long untimedNanos,
    int launches,
    int workers,
    long workNanos,
    long pathNanos,
    ImmutableIntArray path,
    ImmutableLongArray slackNanos,
    ImmutableIntArray chain,
    long chainNanos,
    long launchNanos,
    long syncNanos,
    long edgeNanos) {

  /** What a step is bounded by most. */
  enum Verdict {
    /** Launches are so short that timing them took most of the step. */
    TIMING,
    /** Launching, synchronising, entering and leaving take a third of the step or more. */
    OVERHEAD,
    /** The critical path: no number of workers helps. */
    PATH,
    /** All work on that many workers. */
    WORK,
    /** Neither: the placement leaves workers idle. */
    PLACEMENT
  }

  private static final double OVERHEAD_SHARE = 1.0 / 3;
  private static final double CLOSE = 0.8;

  /** Works it out; nodes of {@code graph} without a span take no time. */
  static StepBounds of(Graph graph, Timeline timeline, long untimedNanos) {
    int nodes = graph.nodes().size();
    Timeline.Span[] spanOf = new Timeline.Span[nodes];
    long[] lengths = new long[nodes];
    long work = 0;
    for (Timeline.Span span : timeline.spans()) {
      spanOf[span.node().id()] = span;
      lengths[span.node().id()] = Math.max(0, span.endNanos() - span.startNanos());
      work += lengths[span.node().id()];
    }
    int[][] predecessors = graph.predecessorIds();
    CriticalPath critical = CriticalPath.of(Dag.of(predecessors), lengths);
    long[] slack = new long[nodes];
    Arrays.setAll(slack, critical::slack);
    Deque<Timeline.Span> chain = chain(timeline, spanOf, predecessors);
    long chainNanos = 0;
    long launch = 0;
    long sync = 0;
    Timeline.@Nullable Span before = null;
    for (Timeline.Span span : chain) {
      chainNanos += lengths[span.node().id()];
      if (before != null) {
        long gap = Math.max(0, span.startNanos() - before.endNanos());
        launch += before.worker() == span.worker() ? gap : 0;
        sync += before.worker() == span.worker() ? 0 : gap;
      }
      before = span;
    }
    return new StepBounds(
        timeline.totalNanos(),
        untimedNanos,
        timeline.spans().size(),
        (int) timeline.spans().stream().mapToInt(Timeline.Span::worker).distinct().count(),
        work,
        critical.length(),
        path(graph, critical, lengths),
        ImmutableLongArray.copyOf(slack),
        ImmutableIntArray.copyOf(chain.stream().mapToInt(span -> span.node().id())),
        chainNanos,
        launch,
        sync,
        timeline.totalNanos() - chainNanos - launch - sync);
  }

  /** One longest path; where there are several, through the lowest node ids. */
  private static ImmutableIntArray path(Graph graph, CriticalPath critical, long[] lengths) {
    ImmutableIntArray.Builder path = ImmutableIntArray.builder();
    @Nullable Node at = null;
    for (Node node : graph.nodes()) {
      if (critical.earliestStart(node.id()) == 0 && critical.slack(node.id()) == 0) {
        at = node;
        break;
      }
    }
    while (at != null) {
      path.add(at.id());
      long reached = critical.earliestStart(at.id()) + lengths[at.id()];
      @Nullable Node next = null;
      for (Node successor : graph.successors(at)) {
        if (next == null
            && critical.slack(successor.id()) == 0
            && critical.earliestStart(successor.id()) == reached) {
          next = successor;
        }
      }
      at = next;
    }
    return path.build();
  }

  private static Deque<Timeline.Span> chain(
      Timeline timeline, Timeline.@Nullable Span[] spanOf, int[][] predecessors) {
    Timeline.@Nullable Span[] binding = new Timeline.Span[spanOf.length];
    for (int v = 0; v < spanOf.length; v++) { // of nodes without a span: what they pass on
      for (int p : predecessors[v]) {
        binding[v] = later(binding[v], spanOf[p] == null ? binding[p] : spanOf[p]);
      }
    }
    Map<Integer, Timeline.Span> lastOfWorker = new HashMap<>();
    Timeline.@Nullable Span last = null;
    for (Timeline.Span span : timeline.spans()) { // in order of start
      int id = span.node().id();
      binding[id] = later(binding[id], lastOfWorker.put(span.worker(), span));
      last = later(last, span);
    }
    Deque<Timeline.Span> chain = new ArrayDeque<>();
    while (last != null && chain.size() < spanOf.length) { // clocks of a device may be out by a bit
      chain.addFirst(last);
      last = binding[last.node().id()];
    }
    return chain;
  }

  private static Timeline.@Nullable Span later(
      Timeline.@Nullable Span a, Timeline.@Nullable Span b) {
    if (a == null || b == null) {
      return a == null ? b : a;
    }
    return b.endNanos() > a.endNanos() ? b : a;
  }

  /** All work spread evenly over the workers. */
  long evenNanos() {
    return workers == 0 ? 0 : (workNanos + workers - 1) / workers;
  }

  /** What no schedule of these kernels on these workers can beat. */
  long leastNanos() {
    return Math.max(pathNanos, evenNanos());
  }

  /** Launching, synchronising, entering and leaving. */
  long overheadNanos() {
    return totalNanos - chainNanos;
  }

  /** What bounds the step most. */
  Verdict verdict() {
    if (untimedNanos > 0 && untimedNanos < totalNanos / 2) {
      return Verdict.TIMING;
    }
    if (overheadNanos() >= OVERHEAD_SHARE * totalNanos) {
      return Verdict.OVERHEAD;
    }
    if (leastNanos() < CLOSE * totalNanos) {
      return Verdict.PLACEMENT;
    }
    return pathNanos >= evenNanos() ? Verdict.PATH : Verdict.WORK;
  }

  /** The verdict in one sentence. */
  String headline() {
    if (launches == 0) {
      return "Nothing is launched.";
    }
    switch (verdict()) {
      case TIMING:
        return String.format(
            Locale.ROOT,
            "Too short to be timed: timing each launch took %s of the step, so the times below say"
                + " little. Untimed, the step takes %s for %d launches.",
            share(totalNanos - untimedNanos),
            time(untimedNanos),
            launches);
      case OVERHEAD:
        return String.format(
            Locale.ROOT,
            "Bounded by launch and sync overhead: %s of the step's %s computed nothing. Larger or"
                + " fused operators would help, faster kernels would not.",
            share(overheadNanos()),
            time(totalNanos));
      case PATH:
        return String.format(
            Locale.ROOT,
            "Bounded by the critical path: its launches take %s of the step, so more workers cannot"
                + " help; faster kernels on the path would.",
            share(pathNanos));
      case WORK:
        return String.format(
            Locale.ROOT,
            "Bounded by the total work: %s kept busy for %s of the step. More workers could bring"
                + " it down to the critical path, %s.",
            workers == 1 ? "one worker was" : workers + " workers were",
            share(evenNanos()),
            time(pathNanos));
      default:
        return String.format(
            Locale.ROOT,
            "Bounded by the placement: neither the critical path (%s) nor the work of each worker"
                + " (%s) fills the step; launches queued behind others on their worker.",
            share(pathNanos),
            share(evenNanos()));
    }
  }

  /** The figures behind it, a sentence each. */
  ImmutableList<String> sentences() {
    List<String> lines = new ArrayList<>();
    lines.add(
        String.format(
            Locale.ROOT,
            "Critical path: %s over %d nodes, %s of the step: no schedule is faster, on however"
                + " many workers.",
            time(pathNanos),
            path.length(),
            share(pathNanos)));
    lines.add(
        String.format(
            Locale.ROOT,
            "Total work: %s; evenly on %d %s that is %s, %s of the step. Work over critical path is"
                + " %.2f: how many workers could be kept busy.",
            time(workNanos),
            workers,
            workers == 1 ? "worker" : "workers",
            time(evenNanos()),
            share(evenNanos()),
            pathNanos == 0 ? 1 : (double) workNanos / pathNanos));
    lines.add(
        String.format(
            Locale.ROOT,
            "The %d launches that the step's end waited for: computing %s (%s), launching %s (%s),"
                + " waiting for another worker %s (%s), entering and leaving %s (%s).",
            chain.length(),
            time(chainNanos),
            share(chainNanos),
            time(launchNanos),
            share(launchNanos),
            time(syncNanos),
            share(syncNanos),
            time(edgeNanos),
            share(edgeNanos)));
    if (leastNanos() > 0) {
      lines.add(
          String.format(
              Locale.ROOT,
              "The step took %.2f times the least that these kernels allow on %d %s, %s.",
              (double) totalNanos / leastNanos(),
              workers,
              workers == 1 ? "worker" : "workers",
              time(leastNanos())));
    }
    return ImmutableList.copyOf(lines);
  }

  private String share(long nanos) {
    return totalNanos == 0
        ? "0 %"
        : String.format(Locale.ROOT, "%.0f %%", 100.0 * nanos / totalNanos);
  }

  /** For example {@code 940 ns}, {@code 12.3 µs}, {@code 4.56 ms}. */
  static String time(long nanos) {
    if (nanos < 1_000) {
      return nanos + " ns";
    }
    double scaled = nanos / 1e3;
    String unit = "µs";
    if (scaled >= 1_000) {
      scaled /= 1_000;
      unit = "ms";
    }
    if (scaled >= 10_000) {
      scaled /= 1_000;
      unit = "s";
    }
    String format = scaled >= 100 ? "%.0f %s" : scaled >= 10 ? "%.1f %s" : "%.2f %s";
    return String.format(Locale.ROOT, format, scaled, unit);
  }
}
