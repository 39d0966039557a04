package dev.nimble.cuda.record;

import dev.nimble.cuda.driver.CudaContext;
import dev.nimble.cuda.driver.CudaEvent;
import dev.nimble.cuda.driver.CudaStream;
import dev.nimble.cuda.driver.Resources;
import dev.nimble.cuda.library.LibraryStream;
import dev.nimble.cuda.op.Launch;
import dev.nimble.plan.Command;
import dev.nimble.plan.ExecutionPlan;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A plan's commands on CUDA streams. The step forks from stream 0 after the copy of the inputs and
 * joins there before the copy of the outputs; between, it is ordered by the plan's events and
 * nothing else: a stream that begins with a wait is forked by it, and one that ends with an event
 * that another waits for is joined by it.
 */
final class StepStreams implements AutoCloseable {
  /** One thing to enqueue. */
  private record Item(LibraryStream on, Action action) {}

  private interface Action {
    void enqueue(LibraryStream on);
  }

  /** What is called around each node by {@link #enqueue}. */
  interface Observer {
    void before(BoundNode node, CudaStream stream);

    void after(BoundNode node, CudaStream stream);
  }

  private final StepMemory memory;
  private final Resources owned = new Resources();
  private final List<LibraryStream> streams = new ArrayList<>();
  private final Map<BoundNode, Integer> streamOf = new HashMap<>();
  private final Item[] items;
  private final CudaEvent start;
  private final int[] forked;
  private final CudaEvent[] ends;
  private final int[] joined;

  /**
   * Makes streams, handles and events.
   *
   * @param nodes the bound nodes, for the plan's launches
   * @param priority of the streams
   */
  StepStreams(
      CudaContext context,
      ExecutionPlan plan,
      StepMemory memory,
      Map<Integer, BoundNode> nodes,
      int priority) {
    this.memory = memory;
    try {
      int count = Math.max(1, plan.streams());
      for (int s = 0; s < count; s++) {
        CudaStream stream = owned.own(new CudaStream(context, priority));
        streams.add(owned.own(new LibraryStream(stream)));
      }
      prepareLibraries(plan, nodes);
      CudaEvent[] events = new CudaEvent[plan.events()];
      for (int e = 0; e < events.length; e++) {
        events[e] = owned.own(new CudaEvent(context, false));
      }
      this.items = items(plan, nodes, events);
      this.start = owned.own(new CudaEvent(context, false));
      this.forked = forked(plan);
      this.joined = joined(plan);
      this.ends = new CudaEvent[joined.length];
      for (int i = 0; i < ends.length; i++) {
        ends[i] = owned.own(new CudaEvent(context, false));
      }
    } catch (Throwable failure) {
      owned.closeAfter(failure);
      throw failure;
    }
  }

  private void prepareLibraries(ExecutionPlan plan, Map<Integer, BoundNode> nodes) {
    for (Command command : plan.commands()) {
      if (command instanceof Command.Launch) {
        BoundNode node = nodes.get(((Command.Launch) command).node().id());
        if (node != null) {
          streams
              .get(command.stream())
              .prepare(node.has(Launch.Kind.BLAS), node.has(Launch.Kind.DNN));
        }
      }
    }
  }

  private Item[] items(ExecutionPlan plan, Map<Integer, BoundNode> nodes, CudaEvent[] events) {
    List<Item> all = new ArrayList<>();
    for (Command command : plan.commands()) {
      LibraryStream on = streams.get(command.stream());
      if (command instanceof Command.Launch) {
        BoundNode node = nodes.get(((Command.Launch) command).node().id());
        if (node == null) {
          throw new IllegalStateException("a launch of an unbound node");
        }
        all.add(new Item(on, new NodeAction(node)));
        streamOf.put(node, command.stream());
      } else if (command instanceof Command.RecordEvent) {
        CudaEvent event = events[((Command.RecordEvent) command).event()];
        all.add(new Item(on, own -> event.record(own.stream())));
      } else if (command instanceof Command.WaitEvent) {
        CudaEvent event = events[((Command.WaitEvent) command).event()];
        all.add(new Item(on, own -> own.stream().await(event)));
      }
    }
    return all.toArray(Item[]::new);
  }

  private record NodeAction(BoundNode node) implements Action {
    @Override
    public void enqueue(LibraryStream on) {
      node.enqueue(on);
    }
  }

  /** Streams other than 0 that do not begin with a wait; those without commands are left out. */
  private static int[] forked(ExecutionPlan plan) {
    Set<Integer> seen = new HashSet<>();
    List<Integer> forked = new ArrayList<>();
    for (Command command : plan.commands()) {
      if (!(command instanceof Command.View) && seen.add(command.stream())) {
        if (command.stream() != 0 && !(command instanceof Command.WaitEvent)) {
          forked.add(command.stream());
        }
      }
    }
    return forked.stream().mapToInt(Integer::intValue).toArray();
  }

  /** Streams other than 0 whose last command is not an event that another stream waits for. */
  private static int[] joined(ExecutionPlan plan) {
    Command[] last = new Command[Math.max(1, plan.streams())];
    Set<Integer> waited = new HashSet<>();
    for (Command command : plan.commands()) {
      if (!(command instanceof Command.View)) {
        last[command.stream()] = command;
      }
      if (command instanceof Command.WaitEvent) {
        waited.add(((Command.WaitEvent) command).event());
      }
    }
    List<Integer> joined = new ArrayList<>();
    for (int s = 1; s < last.length; s++) {
      boolean ends =
          last[s] instanceof Command.RecordEvent
              && waited.contains(((Command.RecordEvent) last[s]).event());
      if (last[s] != null && !ends) {
        joined.add(s);
      }
    }
    return joined.stream().mapToInt(Integer::intValue).toArray();
  }

  /** The stream that a step begins and ends on. */
  CudaStream origin() {
    return streams.get(0).stream();
  }

  /** Enqueues one step; allocates nothing. */
  void enqueue() {
    begin();
    for (Item item : items) {
      item.action.enqueue(item.on);
    }
    end();
  }

  /** Enqueues one step, telling {@code observer} around each node. */
  void enqueue(Observer observer) {
    begin();
    for (Item item : items) {
      if (item.action instanceof NodeAction) {
        BoundNode node = ((NodeAction) item.action).node();
        observer.before(node, item.on.stream());
        item.action.enqueue(item.on);
        observer.after(node, item.on.stream());
      } else {
        item.action.enqueue(item.on);
      }
    }
    end();
  }

  private void begin() {
    memory.upload(origin());
    if (forked.length > 0) {
      start.record(origin());
      for (int s : forked) {
        streams.get(s).stream().await(start);
      }
    }
  }

  private void end() {
    for (int i = 0; i < joined.length; i++) {
      ends[i].record(streams.get(joined[i]).stream());
      origin().await(ends[i]);
    }
    memory.download(origin());
  }

  /** The stream that {@code node} is on. */
  int streamOf(BoundNode node) {
    Integer stream = streamOf.get(node);
    if (stream == null) {
      throw new IllegalStateException(node.node() + " is on no stream");
    }
    return stream;
  }

  /** Waits for all streams. */
  void synchronize() {
    for (LibraryStream stream : streams) {
      stream.stream().synchronize();
    }
  }

  /** Destroys everything. Idempotent. */
  @Override
  public void close() {
    owned.close();
  }
}
