package dev.nimble.planfile;

import dev.nimble.error.DeviceException;
import dev.nimble.error.InvalidPlanException;
import dev.nimble.error.Location;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Reads weights: the table, then the bytes, which take no more memory than they take on disk. All
 * are copied to memory of their own, so that a file that changes later changes nothing.
 */
final class WeightLoader implements PlanDecoder.WeightReader {
  private static final int SLAB_BYTES = 1 << 26;

  private final Path planFile;
  private final FileChannel channel;
  private final long start;
  private final PlanLimits limits;

  /** For the weights that follow byte {@code start} of a plan file, to its end. */
  WeightLoader(Path planFile, FileChannel channel, long start, PlanLimits limits) {
    this.planFile = planFile;
    this.channel = channel;
    this.start = start;
    this.limits = limits;
  }

  /** A row of the table. */
  private record Row(int length, int checksum, long offset) {
    long end() {
      return offset + length;
    }
  }

  @Override
  public List<ByteBuffer> read(Decoder in) throws IOException {
    String order = in.text("the byte order");
    if (!order.equals(ByteOrder.nativeOrder().toString())) {
      throw new InvalidPlanException(
          "has weights in the byte order "
              + order
              + ", and this machine is "
              + ByteOrder.nativeOrder()
              + "; prepare the model on a machine of this kind");
    }
    String other = in.flag("whether there is another file") ? in.text("the other file") : "";
    int count = in.count("weights", Integer.MAX_VALUE);
    List<Row> inline = new ArrayList<>();
    List<Row> referred = new ArrayList<>();
    long inlineEnd = start;
    long total = 0;
    for (int i = 0; i < count; i++) {
      int length = in.small("the length of weights", Integer.MAX_VALUE);
      int checksum = (int) in.fixed(4);
      total += length;
      if (in.flag("whether weights are in another file")) {
        long offset = in.number("an offset", Long.MAX_VALUE / 2);
        if (!referred.isEmpty() && offset < referred.get(referred.size() - 1).end()) {
          throw in.damaged("weights overlap in the other file");
        }
        referred.add(new Row(length, checksum, offset));
      } else if (!referred.isEmpty()) {
        throw in.damaged("its own weights come after those in another file");
      } else {
        Row row = new Row(length, checksum, Weights.aligned(inlineEnd));
        inlineEnd = row.end();
        inline.add(row);
      }
    }
    if (total > limits.weightBytes()) {
      throw new InvalidPlanException(
          "has " + total + " bytes of weights, more than the limit of " + limits.weightBytes());
    }
    if (inlineEnd != channel.size()) {
      throw in.damaged(
          "its weights end at byte " + inlineEnd + ", and the file at " + channel.size());
    }
    List<ByteBuffer> weights = new ArrayList<>();
    readInline(inline, weights);
    if (!referred.isEmpty()) {
      readReferred(other, referred, weights);
    }
    return weights;
  }

  private void readInline(List<Row> rows, List<ByteBuffer> weights) throws IOException {
    long from = start;
    for (int first = 0; first < rows.size(); ) {
      int last = first + 1; // as many as fit into a slab
      while (last < rows.size() && rows.get(last).end() - from <= SLAB_BYTES) {
        last++;
      }
      long to = rows.get(last - 1).end();
      ByteBuffer slab = readRange(channel, from, to, "its weights");
      int end = 0;
      for (Row row : rows.subList(first, last)) {
        int at = (int) (row.offset - from);
        for (; end < at; end++) {
          if (slab.get(end) != 0) {
            throw new InvalidPlanException("is damaged: there are bytes between its weights");
          }
        }
        weights.add(checked(slab.slice(at, row.length), row, "is damaged: its weights"));
        end = at + row.length;
      }
      from = to;
      first = last;
    }
  }

  private void readReferred(String other, List<Row> rows, List<ByteBuffer> weights)
      throws IOException {
    Path file = within(other);
    try (FileChannel weightChannel = FileChannel.open(file)) {
      for (Row row : rows) {
        String what = "its weights in '" + other + "'";
        ByteBuffer bytes = readRange(weightChannel, row.offset, row.end(), what);
        weights.add(
            checked(bytes, row, "'" + other + "' is not the file that it was saved with: bytes"));
      }
    }
  }

  /** The other file, which must be a file in the plan file's folder or below. */
  private Path within(String other) throws IOException {
    Path folder = Objects.requireNonNull(planFile.toRealPath().getParent()); // it is a file
    try {
      Path relative = Path.of(other);
      Path file = folder.resolve(relative);
      if (other.isEmpty() || relative.isAbsolute() || !file.normalize().startsWith(folder)) {
        throw new InvalidPlanException(
            "refers to weights in '" + other + "', outside its own folder");
      }
      if (!Files.isRegularFile(file)) {
        throw new InvalidPlanException(
            "refers to weights in '" + other + "', which is not there; put the file beside it");
      }
      if (!file.toRealPath().startsWith(folder)) {
        throw new InvalidPlanException(
            "refers to weights in '" + other + "', which is a link out of its own folder");
      }
      return file;
    } catch (InvalidPathException e) {
      throw new InvalidPlanException("refers to weights in a file of an impossible name");
    }
  }

  /** Bytes {@code [from, to)}; allocates only if the file is as long as that. */
  private static ByteBuffer readRange(FileChannel file, long from, long to, String what)
      throws IOException {
    if (to > file.size() || to - from > Integer.MAX_VALUE - 8) {
      throw new InvalidPlanException(
          what + " are missing: bytes " + from + " to " + to + " of " + file.size());
    }
    ByteBuffer bytes = allocate((int) (to - from));
    while (bytes.hasRemaining()) {
      if (file.read(bytes, from + bytes.position()) < 0) {
        throw new InvalidPlanException(what + " are missing: the file became shorter");
      }
    }
    return bytes.clear();
  }

  private static ByteBuffer allocate(int size) {
    try {
      return ByteBuffer.allocateDirect(size).order(ByteOrder.nativeOrder());
    } catch (OutOfMemoryError e) {
      throw new DeviceException(
          "the weights need "
              + size
              + " bytes of direct memory, and the JVM's limit on that is reached;"
              + " raise -XX:MaxDirectMemorySize",
          Location.NOWHERE,
          e);
    }
  }

  private static ByteBuffer checked(ByteBuffer bytes, Row row, String what) {
    if (Weights.checksum(bytes) != row.checksum) {
      throw new InvalidPlanException(
          what + " at " + row.offset + " have another checksum than when it was saved");
    }
    return bytes;
  }
}
