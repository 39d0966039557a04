package dev.nimble.analysis;

import java.util.Arrays;

/** A priority queue of node numbers: the least key first, and of equal keys the lowest number. */
final class NodeHeap {
  private final long[] keyOf;
  private int[] heap = new int[16];
  private int size;

  /** Orders nodes by {@code keyOf}; the key of a node that is inside must not change. */
  NodeHeap(long[] keyOf) {
    this.keyOf = keyOf;
  }

  boolean isEmpty() {
    return size == 0;
  }

  int least() {
    return heap[0];
  }

  void add(int node) {
    if (size == heap.length) {
      heap = Arrays.copyOf(heap, 2 * size);
    }
    int at = size++;
    while (at > 0 && before(node, heap[(at - 1) / 2])) {
      heap[at] = heap[(at - 1) / 2];
      at = (at - 1) / 2;
    }
    heap[at] = node;
  }

  int removeLeast() {
    int least = heap[0];
    int moved = heap[--size];
    int at = 0;
    for (int child = 1; child < size; child = 2 * at + 1) {
      if (child + 1 < size && before(heap[child + 1], heap[child])) {
        child++;
      }
      if (!before(heap[child], moved)) {
        break;
      }
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = moved;
    return least;
  }

  private boolean before(int u, int v) {
    return keyOf[u] != keyOf[v] ? keyOf[u] < keyOf[v] : u < v;
  }
}
