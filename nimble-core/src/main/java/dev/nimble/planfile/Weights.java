package dev.nimble.planfile;

import com.google.common.collect.ImmutableList;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Value;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The contents of a graph's constants and variables as a plan file keeps them: each distinct run of
 * bytes once, those within the plan file first, in order of use, then those in another file, in the
 * order of that file.
 *
 * @param blobs the distinct contents
 * @param indexOf the blob of each constant and variable, by value id; -1 for other values
 */
record Weights(ImmutableList<Blob> blobs, int[] indexOf) {
  /** Within a plan file, each run of bytes starts at a multiple of this many bytes. */
  static final int ALIGNMENT = 64;

  /**
   * Some bytes.
   *
   * @param bytes the bytes
   * @param checksum their CRC-32C
   * @param offset where they lie in the other file; -1 if they are within the plan file
   */
  record Blob(ByteBuffer bytes, int checksum, long offset) {
    boolean isInline() {
      return offset < 0;
    }

    int length() {
      return bytes.remaining();
    }
  }

  /**
   * The weights of {@code graph}; those that occur in {@code file}, if there is one, refer to it.
   */
  static Weights of(Graph graph, @Nullable Path file) {
    List<Blob> distinct = new ArrayList<>();
    int[] firstIndex = new int[graph.values().size()];
    Map<Long, List<Integer>> byChecksum = new HashMap<>();
    for (Value value : graph.values()) {
      firstIndex[value.id()] = -1;
      if (value.kind() == Value.Kind.CONSTANT || value.kind() == Value.Kind.VARIABLE) {
        ByteBuffer bytes = value.contents().bytes().duplicate().clear();
        int checksum = checksum(bytes);
        long key = (long) bytes.remaining() << 32 | checksum & 0xffffffffL;
        List<Integer> alike = byChecksum.computeIfAbsent(key, k -> new ArrayList<>());
        for (int i : alike) {
          if (distinct.get(i).bytes.equals(bytes)) {
            firstIndex[value.id()] = i;
          }
        }
        if (firstIndex[value.id()] < 0) {
          firstIndex[value.id()] = distinct.size();
          alike.add(distinct.size());
          distinct.add(new Blob(bytes, checksum, -1));
        }
      }
    }
    return file == null
        ? new Weights(ImmutableList.copyOf(distinct), firstIndex)
        : sorted(locate(distinct, file), firstIndex);
  }

  private static List<Blob> locate(List<Blob> blobs, Path file) {
    long[] offsets;
    try (FileChannel channel = FileChannel.open(file)) {
      offsets = ByteFinder.find(blobs.stream().map(Blob::bytes).toList(), channel);
    } catch (IOException e) {
      throw new InvalidArgumentException("the weights in " + file + " cannot be read: " + e);
    }
    List<Integer> found = new ArrayList<>();
    for (int i = 0; i < offsets.length; i++) {
      if (offsets[i] >= 0) {
        found.add(i);
      }
    }
    found.sort(Comparator.comparingLong(i -> offsets[i]));
    List<Blob> located = new ArrayList<>(blobs);
    long end = 0;
    for (int i : found) {
      Blob blob = blobs.get(i);
      if (offsets[i] >= end) { // else it is part of another: rare, and kept within
        located.set(i, new Blob(blob.bytes, blob.checksum, offsets[i]));
        end = offsets[i] + blob.length();
      }
    }
    return located;
  }

  private static Weights sorted(List<Blob> blobs, int[] indexOf) {
    List<Integer> order = new ArrayList<>();
    for (int i = 0; i < blobs.size(); i++) {
      order.add(i);
    }
    order.sort(Comparator.comparingLong(i -> blobs.get(i).offset)); // stable, -1 first
    int[] place = new int[blobs.size()];
    for (int i = 0; i < place.length; i++) {
      place[order.get(i)] = i;
    }
    int[] sortedIndex = indexOf.clone();
    for (int v = 0; v < sortedIndex.length; v++) {
      sortedIndex[v] = indexOf[v] < 0 ? -1 : place[indexOf[v]];
    }
    return new Weights(
        order.stream().map(blobs::get).collect(ImmutableList.toImmutableList()), sortedIndex);
  }

  static int checksum(ByteBuffer bytes) {
    CRC32C crc = new CRC32C();
    crc.update(bytes.duplicate());
    return (int) crc.getValue();
  }

  /** The first multiple of {@link #ALIGNMENT} that is not less. */
  static long aligned(long offset) {
    return (offset + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }
}
