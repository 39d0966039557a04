package dev.nimble.onnx;

import ai.onnx.proto.OnnxMl.StringStringEntryProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The files beside a model in which it may keep tensors. A location is a relative path that stays
 * in the model's folder; no part of it may be a symbolic link, and what is read must lie within the
 * file. A model that was not read from a folder has no such files.
 */
final class ExternalData {
  private final @Nullable Path folder;

  /** {@code folder} holds the model; null where there is none. */
  ExternalData(@Nullable Path folder) {
    this.folder = folder;
  }

  static ExternalData none() {
    return new ExternalData(null);
  }

  static boolean isUsedBy(TensorProto proto) {
    return proto.getDataLocation() == TensorProto.DataLocation.EXTERNAL
        || proto.getExternalDataCount() > 0;
  }

  /**
   * Reads the little-endian bytes of {@code proto}, of the type {@code type}.
   *
   * @throws InvalidModelException if the location leaves the folder or the file does not hold them
   */
  Tensor read(TensorProto proto, TensorType type, String where) {
    Map<String, String> entries = new HashMap<>();
    for (StringStringEntryProto entry : proto.getExternalDataList()) {
      entries.put(entry.getKey(), entry.getValue());
    }
    String location = entries.getOrDefault("location", "");
    Path file = resolve(location, where);
    long offset = number(entries, "offset", 0, where);
    long length = number(entries, "length", type.sizeBytes(), where);
    if (length != type.sizeBytes()) {
      throw new InvalidModelException(
          where + " of " + type + " has " + length + " bytes of data, not " + type.sizeBytes());
    }
    try (SeekableByteChannel channel =
        Files.newByteChannel(file, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS)) {
      if (offset > channel.size() - length) {
        throw new InvalidModelException(
            where
                + " needs bytes "
                + offset
                + " to "
                + (offset + length)
                + " of '"
                + location
                + "', which has "
                + channel.size());
      }
      Tensor tensor = Tensor.zeros(type);
      ByteBuffer memory = tensor.bytes().duplicate();
      channel.position(offset);
      while (memory.hasRemaining()) {
        if (channel.read(memory) < 0) {
          throw new InvalidModelException(where + ": '" + location + "' ended while it was read");
        }
      }
      return tensor;
    } catch (IOException e) {
      throw new InvalidModelException(where + ": '" + location + "' cannot be read: " + e);
    }
  }

  private Path resolve(String location, String where) {
    if (folder == null) {
      throw new InvalidModelException(
          where + " keeps its data in another file, but the model was not read from a folder");
    }
    Path relative;
    try {
      relative = Path.of(location);
    } catch (InvalidPathException e) {
      throw new InvalidModelException(where + " has a location that is no path: " + e.getReason());
    }
    if (location.isEmpty() || relative.isAbsolute()) {
      throw new InvalidModelException(
          where + " must have a location relative to the model's folder, not '" + location + "'");
    }
    Path at = folder;
    for (Path part : relative) {
      if (part.toString().equals("..")) {
        throw new InvalidModelException(
            where + " has the location '" + location + "', which leaves the model's folder");
      }
      at = at.resolve(part);
      if (Files.isSymbolicLink(at)) {
        throw new InvalidModelException(
            where + " has the location '" + location + "', which is or passes a symbolic link");
      }
    }
    if (!Files.isRegularFile(at, LinkOption.NOFOLLOW_LINKS)) {
      throw new InvalidModelException(
          where + " keeps its data in '" + location + "', which is not a file");
    }
    return at;
  }

  private static long number(
      Map<String, String> entries, String key, long otherwise, String where) {
    String text = entries.get(key);
    if (text == null) {
      return otherwise;
    }
    try {
      long number = Long.parseLong(text);
      if (number >= 0) {
        return number;
      }
    } catch (NumberFormatException e) {
      // reported below
    }
    throw new InvalidModelException(where + " has external data with " + key + " '" + text + "'");
  }
}
