package dev.nimble.cuda.kernel;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/**
 * CUDA C: either a resource with kernels of any names, or one generated kernel. Sources with the
 * same prelude can be compiled together.
 *
 * @param name of a resource its file name; of a generated kernel the kernel's name, unique to its
 *     text
 * @param prelude what stands before it
 * @param text the kernels
 * @param contracts whether a product and a sum may become one operation, rounded once
 */
public record KernelSource(String name, String prelude, String text, boolean contracts) {
  /** A resource beside {@code anchor}, after another. */
  public static KernelSource ofResource(Class<?> anchor, String prelude, String file) {
    return new KernelSource(file, read(anchor, prelude), read(anchor, file), true);
  }

  /** A generated kernel: {@code text} has {@code NAME} where the kernel's name goes. */
  public static KernelSource generated(String prelude, String label, String text) {
    String name = label + "_" + DiskCache.hash(text).substring(0, 16);
    return new KernelSource(name, prelude, text.replace("NAME", name), false);
  }

  /** The text of a resource beside {@code anchor}. */
  public static String read(Class<?> anchor, String file) {
    try (InputStream stream = anchor.getResourceAsStream(file)) {
      if (stream == null) {
        throw new IllegalStateException("the resource " + file + " is missing");
      }
      return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
