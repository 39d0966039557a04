package dev.nimble.cuda.record;

import dev.nimble.cuda.driver.Resources;
import dev.nimble.cuda.library.LibraryStream;
import dev.nimble.cuda.op.Launch;
import dev.nimble.error.DeviceException;
import dev.nimble.graph.Node;
import java.util.List;

/** The launches of one node; allocates nothing when enqueued. */
final class BoundNode implements AutoCloseable {
  private final Node node;
  private final Launch[] launches;
  private final Resources owned;

  BoundNode(Node node, List<Launch> launches) {
    this.node = node;
    this.launches = launches.toArray(Launch[]::new);
    this.owned = Resources.of(this.launches);
  }

  Node node() {
    return node;
  }

  /** Enqueues the launches in order; a failure names the node. */
  void enqueue(LibraryStream on) {
    try {
      for (Launch launch : launches) {
        launch.enqueue(on);
      }
    } catch (DeviceException e) {
      throw e.at(node.location());
    }
  }

  boolean has(Launch.Kind kind) {
    return count(kind) > 0;
  }

  /** How many launches it has. */
  int count() {
    return launches.length;
  }

  int count(Launch.Kind kind) {
    int count = 0;
    for (Launch launch : launches) {
      count += launch.kind() == kind ? 1 : 0;
    }
    return count;
  }

  @Override
  public void close() {
    owned.close();
  }
}
