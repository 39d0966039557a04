package dev.nimble.cuda.record;

import dev.nimble.cuda.driver.CudaContext;
import dev.nimble.cuda.driver.CudaStream;
import dev.nimble.cuda.driver.DeviceAddress;
import dev.nimble.cuda.driver.DeviceMemory;
import dev.nimble.cuda.driver.PinnedMemory;
import dev.nimble.error.DeviceException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/** Pieces of a GPU's memory with their mirror in pinned host memory; neighbours are one copy. */
final class Staging implements AutoCloseable {
  /** One copy. */
  private record Run(jcuda.Pointer host, DeviceAddress device, long bytes) {}

  private final TreeMap<Long, Long> hostOffsets = new TreeMap<>();
  private final PinnedMemory host;
  private final Run[] runs;

  /**
   * Allocates the mirror, as zeros.
   *
   * @param pieces sizes in bytes by offset in {@code device}; they do not overlap
   * @throws DeviceException if memory runs out, or a mirror of 2 GiB does not do
   */
  Staging(CudaContext context, DeviceMemory device, SortedMap<Long, Long> pieces) {
    List<long[]> joined = new ArrayList<>(); // device offset, host offset, bytes
    long size = 0;
    for (Map.Entry<Long, Long> piece : pieces.entrySet()) {
      long offset = piece.getKey();
      long bytes = piece.getValue();
      long[] last = joined.isEmpty() ? null : joined.get(joined.size() - 1);
      if (last != null && last[0] + last[2] == offset) {
        last[2] += bytes;
      } else {
        joined.add(new long[] {offset, size, bytes});
      }
      hostOffsets.put(offset, size);
      size += bytes;
    }
    if (size > Integer.MAX_VALUE) {
      throw new DeviceException(
          "inputs or outputs of "
              + size
              + " bytes exceed 2 GiB of staging memory; keep large ones"
              + " resident on the device");
    }
    host = new PinnedMemory(context, (int) size);
    runs =
        joined.stream()
            .map(run -> new Run(host.pointer(run[1]), device.at(run[0]), run[2]))
            .toArray(Run[]::new);
  }

  /** Enqueues the copies to the GPU; allocates nothing. */
  void upload(CudaStream stream) {
    for (Run run : runs) {
      stream.upload(run.host, run.device, run.bytes);
    }
  }

  /** Enqueues the copies from the GPU; allocates nothing. */
  void download(CudaStream stream) {
    for (Run run : runs) {
      stream.download(run.device, run.host, run.bytes);
    }
  }

  /** The mirror of the piece at {@code offset}, and what follows. */
  ByteBuffer at(long offset) {
    Long place = hostOffsets.get(offset);
    if (place == null) {
      throw new IllegalStateException("nothing is staged at " + offset);
    }
    return host.bytes().duplicate().order(ByteOrder.nativeOrder()).position(Math.toIntExact(place));
  }

  /** Clears the mirror. */
  void clear() {
    ByteBuffer bytes = host.bytes();
    for (int i = 0; i < bytes.capacity(); i++) {
      bytes.put(i, (byte) 0);
    }
  }

  /** How many copies each way. */
  int copies() {
    return runs.length;
  }

  /** Frees the mirror. Idempotent. */
  @Override
  public void close() {
    host.close();
  }
}
