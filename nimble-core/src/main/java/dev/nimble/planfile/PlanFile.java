package dev.nimble.planfile;

import dev.nimble.error.DeviceException;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.error.InvalidPlanException;
import dev.nimble.error.Location;
import dev.nimble.error.NimbleException;
import dev.nimble.verify.PlanVerifier;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Writes and reads plan files: a header, the structure of the plan, and the weights; all
 * checksummed, numbers with the least byte first. Equal plans give equal files.
 *
 * <p>A file is read as untrusted input: whatever its bytes, the result is a plan that has passed
 * verification, or an exception of this library.
 */
public final class PlanFile {
  /** The version of the format that this library writes, and the only one that it reads. */
  public static final int VERSION = 1;

  /** Like PNG's: not text, and changed by whatever converts line ends or drops the eighth bit. */
  private static final byte[] MAGIC = {(byte) 0x8e, 'N', 'P', 'L', 'A', 'N', '\r', '\n'};

  private static final int HEADER_BYTES = 64;
  private static final int VERSION_AT = 8;
  private static final int FILE_LENGTH_AT = 16;
  private static final int STRUCTURE_LENGTH_AT = 24;
  private static final int STRUCTURE_CHECKSUM_AT = 32;
  private static final int HEADER_CHECKSUM_AT = 60;

  private PlanFile() {}

  /**
   * Writes {@code saved} to {@code file}, replacing it at once when all is written.
   *
   * @throws InvalidArgumentException if an operator is not one of this library's (names the node),
   *     the weights' file is outside the folder of {@code file}, or a file cannot be written or
   *     read
   */
  public static void write(Path file, SavedPlan saved, PlanWeights weights) {
    write(file, saved, weights, new RecordCodec(RecordCodec.LIBRARY));
  }

  static void write(Path file, SavedPlan saved, PlanWeights weights, RecordCodec records) {
    try {
      Path folder = parentOf(file);
      String weightFile = weights.file() == null ? null : relative(folder, file, weights.file());
      Weights table = Weights.of(saved.plan().graph(), weights.file());
      byte[] structure = new PlanEncoder(records, table).encode(saved, weightFile);
      Path unfinished = folder.resolve("." + file.getFileName() + "." + UUID.randomUUID());
      try {
        write(unfinished, structure, table);
        replace(unfinished, file);
      } finally {
        Files.deleteIfExists(unfinished);
      }
    } catch (IOException e) {
      throw new InvalidArgumentException("cannot be written: " + why(e), at(file), e);
    } catch (InvalidArgumentException e) {
      throw new InvalidArgumentException(e.what(), e.location().withFile(file.toString()), e);
    }
  }

  private static Path parentOf(Path file) throws IOException {
    Path parent = file.toAbsolutePath().getParent();
    if (parent == null || Files.isDirectory(file)) {
      throw new InvalidArgumentException("is a folder, not a file");
    }
    if (!Files.isDirectory(parent)) {
      throw new InvalidArgumentException("cannot be written: there is no folder " + parent);
    }
    return parent.toRealPath();
  }

  /** The path from {@code folder} to {@code weights}, with slashes. */
  private static String relative(Path folder, Path file, Path weights) throws IOException {
    if (!Files.isRegularFile(weights)) {
      throw new InvalidArgumentException("there is no weights file " + weights);
    }
    Path real = weights.toRealPath();
    if (!real.startsWith(folder) || (Files.exists(file) && Files.isSameFile(file, weights))) {
      throw new InvalidArgumentException(
          "cannot refer to weights in "
              + weights
              + ": that must be another file, in the plan file's folder or below");
    }
    return folder.relativize(real).toString().replace('\\', '/');
  }

  private static void write(Path file, byte[] structure, Weights weights) throws IOException {
    long end = HEADER_BYTES + (long) structure.length;
    for (Weights.Blob blob : weights.blobs()) {
      end = blob.isInline() ? Weights.aligned(end) + blob.length() : end;
    }
    ByteBuffer header = ByteBuffer.allocate(HEADER_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    header.put(0, MAGIC);
    header.putInt(VERSION_AT, VERSION);
    header.putLong(FILE_LENGTH_AT, end);
    header.putLong(STRUCTURE_LENGTH_AT, structure.length);
    header.putInt(STRUCTURE_CHECKSUM_AT, Weights.checksum(ByteBuffer.wrap(structure)));
    header.putInt(HEADER_CHECKSUM_AT, headerChecksum(header));
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      writeAll(channel, header);
      writeAll(channel, ByteBuffer.wrap(structure));
      for (Weights.Blob blob : weights.blobs()) {
        if (blob.isInline()) {
          long gap = Weights.aligned(channel.position()) - channel.position();
          writeAll(channel, ByteBuffer.allocate((int) gap));
          writeAll(channel, blob.bytes().duplicate());
        }
      }
    }
  }

  private static void writeAll(FileChannel channel, ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      channel.write(bytes);
    }
  }

  private static void replace(Path from, Path to) throws IOException {
    try {
      Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
    } catch (AtomicMoveNotSupportedException e) {
      Files.move(from, to, StandardCopyOption.REPLACE_EXISTING);
    }
  }

  /**
   * Reads and verifies a plan, within default limits.
   *
   * @throws InvalidPlanException if the file cannot be read, is no plan file, is damaged or
   *     truncated, is of another version or machine, or holds a plan that is not right; names the
   *     file and says what is wrong
   * @throws DeviceException if there is not enough memory for the weights
   */
  public static SavedPlan read(Path file) {
    return read(file, PlanLimits.defaults());
  }

  /** As {@link #read(Path)}, within other limits. */
  public static SavedPlan read(Path file, PlanLimits limits) {
    return read(file, limits, new RecordCodec(RecordCodec.LIBRARY));
  }

  static SavedPlan read(Path file, PlanLimits limits, RecordCodec records) {
    try {
      if (Files.exists(file) && !Files.isRegularFile(file)) {
        throw new InvalidPlanException("is not a file");
      }
      try (FileChannel channel = FileChannel.open(file)) {
        SavedPlan saved = read(file, channel, limits, records);
        PlanVerifier.verify(saved.plan());
        return saved;
      }
    } catch (InvalidPlanException e) {
      throw e.in(file.toString());
    } catch (DeviceException e) {
      throw new DeviceException(e.what(), at(file), e);
    } catch (NimbleException e) { // of a graph that cannot be
      throw new InvalidPlanException(e.what(), e.location().withFile(file.toString()), e);
    } catch (NoSuchFileException e) {
      throw new InvalidPlanException("there is no such file", at(file), e);
    } catch (IOException e) {
      throw new InvalidPlanException("cannot be read: " + why(e), at(file), e);
    } catch (RuntimeException e) { // the file is not trusted: a gap in the checks must not escape
      throw new InvalidPlanException("cannot be read: it is damaged: " + e, at(file), e);
    }
  }

  private static SavedPlan read(
      Path file, FileChannel channel, PlanLimits limits, RecordCodec records) throws IOException {
    ByteBuffer header = ByteBuffer.allocate(HEADER_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    readAll(channel, header, 0);
    checkHeader(header, channel.size());
    long length = header.getLong(STRUCTURE_LENGTH_AT);
    if (length < 0 || length > channel.size() - HEADER_BYTES) {
      throw new InvalidPlanException("is damaged: its structure is longer than the file");
    }
    if (length > limits.structureBytes() || length > Integer.MAX_VALUE - 8) {
      throw new InvalidPlanException(
          "has a structure of "
              + length
              + " bytes, more than the limit of "
              + limits.structureBytes());
    }
    byte[] structure = new byte[(int) length];
    readAll(channel, ByteBuffer.wrap(structure), HEADER_BYTES);
    if (Weights.checksum(ByteBuffer.wrap(structure)) != header.getInt(STRUCTURE_CHECKSUM_AT)) {
      throw new InvalidPlanException("is damaged: its structure has another checksum");
    }
    WeightLoader weights = new WeightLoader(file, channel, HEADER_BYTES + length, limits);
    return new PlanDecoder(new Decoder(structure), records, limits).decode(weights);
  }

  private static void readAll(FileChannel channel, ByteBuffer bytes, long from) throws IOException {
    while (bytes.hasRemaining() && channel.read(bytes, from + bytes.position()) >= 0) {
      // read on; what a truncated file lacks stays 0
    }
  }

  private static void checkHeader(ByteBuffer header, long size) {
    byte[] magic = new byte[MAGIC.length];
    header.get(0, magic);
    if (!Arrays.equals(magic, MAGIC)) {
      throw new InvalidPlanException(
          size == 0
              ? "is empty"
              : magic[1] == 'N' && magic[2] == 'P' && magic[3] == 'L'
                  ? "was changed on the way, as by a text-mode transfer"
                  : "is not a plan file");
    }
    if (size < HEADER_BYTES) {
      throw new InvalidPlanException("is truncated: it ends within its header");
    }
    int version = header.getInt(VERSION_AT);
    if (version != VERSION) {
      throw new InvalidPlanException(
          "is a plan file of version "
              + Integer.toUnsignedString(version)
              + ", and this library reads version "
              + VERSION
              + "; save the plan again with this library");
    }
    if (header.getInt(HEADER_CHECKSUM_AT) != headerChecksum(header)) {
      throw new InvalidPlanException("is damaged: its header has another checksum");
    }
    long length = header.getLong(FILE_LENGTH_AT);
    if (size != length) {
      throw new InvalidPlanException(
          (size < length ? "is truncated: it has " : "has bytes added to it: ")
              + size
              + " bytes of "
              + length);
    }
  }

  private static int headerChecksum(ByteBuffer header) {
    return Weights.checksum(header.duplicate().position(0).limit(HEADER_CHECKSUM_AT));
  }

  private static Location at(Path file) {
    return Location.ofFile(file.toString());
  }

  private static String why(@Nullable IOException e) {
    String message = e == null ? null : e.getMessage();
    return message == null ? String.valueOf(e) : message;
  }
}
