package dev.nimble.cuda;

import dev.nimble.cuda.library.Libraries;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import jcuda.driver.JCudaDriver;
import jcuda.jcublas.JCublas2;
import jcuda.jcudnn.JCudnn;
import jcuda.nvrtc.JNvrtc;
import org.jspecify.annotations.Nullable;

/**
 * The native libraries behind JCuda: which are needed, which were found, and what to do about the
 * others. A toolkit's libraries outside the dynamic linker's path are loaded from where toolkits
 * usually lie.
 */
final class NativeLibraries {
  /** A library that JCuda's natives ask the dynamic linker for, by exactly this name. */
  enum Needed {
    DRIVER(
        "CUDA driver",
        "libcuda.so.1",
        "install NVIDIA's driver (Debian: apt install nvidia-driver libcuda1)"),
    NVRTC(
        "NVRTC, the kernel compiler",
        "libnvrtc.so.12",
        "install CUDA 12's libraries (for example apt install cuda-nvrtc-12-6, or pip install"
            + " nvidia-cuda-nvrtc-cu12) and put their folder on LD_LIBRARY_PATH"),
    BLAS(
        "cuBLAS",
        "libcublas.so.12",
        "install CUDA 12's libraries (for example apt install libcublas-12-6, or pip install"
            + " nvidia-cublas-cu12) and put their folder on LD_LIBRARY_PATH"),
    DNN(
        "cuDNN",
        "libcudnn.so.9",
        "install cuDNN 9 for CUDA 12 (for example apt install libcudnn9-cuda-12, or pip install"
            + " nvidia-cudnn-cu12) and put its folder on LD_LIBRARY_PATH");

    private final String title;
    private final String file;
    private final String remedy;

    Needed(String title, String file, String remedy) {
      this.title = title;
      this.file = file;
      this.remedy = remedy;
    }

    String title() {
      return title;
    }

    /** The name asked for. */
    String file() {
      return file;
    }

    String remedy() {
      return remedy;
    }

    /** The name without its version. */
    String stem() {
      return file.substring(0, file.lastIndexOf('.'));
    }

    /** Must the device have it? cuBLAS and cuDNN have stand-ins. */
    boolean required() {
      return this == DRIVER || this == NVRTC;
    }
  }

  /**
   * What became of one library.
   *
   * @param loaded whether it can be called
   * @param detail why not, in one line; empty if loaded
   * @param present files of the library, of any version, found on this machine
   */
  record Found(boolean loaded, String detail, List<Path> present) {}

  private static final Pattern CANNOT_OPEN =
      Pattern.compile("(lib[\\w+-]+\\.so(?:\\.\\d+)*): cannot open shared object file");
  private static final Pattern VERSION_MISSING = Pattern.compile("version `([^']+)' not found");

  private static final Pattern NOT_A_LIBRARY =
      Pattern.compile("file too short|invalid ELF header|wrong ELF class");

  private static @Nullable NativeLibraries once;

  private final Map<Needed, Found> found = new EnumMap<>(Needed.class);

  private NativeLibraries() {
    String platform = platform();
    for (Needed needed : Needed.values()) {
      List<Path> present = present(needed, folders());
      found.put(
          needed, platform.isEmpty() ? load(needed, present) : new Found(false, platform, present));
    }
  }

  /** Looks once in a process: what is loaded stays so. */
  static synchronized NativeLibraries get() {
    if (once == null) {
      once = new NativeLibraries();
    }
    return once;
  }

  Found of(Needed needed) {
    Found result = found.get(needed);
    if (result == null) {
      throw new IllegalStateException(needed.name());
    }
    return result;
  }

  /** What may be called. */
  Libraries usable() {
    return new Libraries(of(Needed.BLAS).loaded(), of(Needed.DNN).loaded());
  }

  /** The libraries without which there is no device, and that are missing. */
  List<Needed> missing() {
    List<Needed> missing = new ArrayList<>();
    for (Needed needed : Needed.values()) {
      if (needed.required() && !of(needed).loaded()) {
        missing.add(needed);
      }
    }
    return missing;
  }

  /** One sentence on a missing library. */
  String advice(Needed needed) {
    Found state = of(needed);
    StringBuilder text = new StringBuilder(needed.title()).append(" (").append(needed.file());
    text.append(") ").append(state.detail());
    if (!state.present().isEmpty()) {
      text.append("; this machine has ").append(state.present());
    }
    return text.append("; ").append(needed.remedy()).toString();
  }

  private static String platform() {
    String os = System.getProperty("os.name", "");
    String arch = System.getProperty("os.arch", "");
    boolean x86 = arch.equals("amd64") || arch.equals("x86_64");
    boolean known = os.equals("Linux") || os.startsWith("Windows");
    return x86 && known
        ? ""
        : "cannot be used: JCuda has natives for Linux and Windows on x86-64, not for "
            + os
            + " on "
            + arch;
  }

  private static Found load(Needed needed, List<Path> present) {
    Throwable first = initialize(needed);
    if (first == null) {
      return new Found(true, "", present);
    }
    return new Found(false, reason(needed, first), present);
  }

  /** Loads the natives that bind to it; a library outside the linker's path is loaded before. */
  private static @Nullable Throwable initialize(Needed needed) {
    preload(needed);
    try {
      switch (needed) {
        case DRIVER:
          JCudaDriver.setExceptionsEnabled(false);
          break;
        case NVRTC:
          JNvrtc.setExceptionsEnabled(false);
          break;
        case BLAS:
          JCublas2.setExceptionsEnabled(false);
          break;
        default:
          JCudnn.setExceptionsEnabled(false);
          break;
      }
      return null;
    } catch (LinkageError e) {
      return e;
    }
  }

  private static void preload(Needed needed) {
    for (Path folder : folders()) {
      Path file = folder.resolve(needed.file());
      if (Files.isReadable(file)) {
        try {
          if (needed == Needed.BLAS) { // which does not name its companion's folder
            Path light = folder.resolve("libcublasLt.so.12");
            if (Files.isReadable(light)) {
              System.load(light.toAbsolutePath().toString());
            }
          }
          System.load(file.toAbsolutePath().toString());
          return;
        } catch (UnsatisfiedLinkError e) {
          continue; // another folder may have one that works; the linker's own search comes last
        }
      }
    }
  }

  private static String reason(Needed needed, Throwable failure) {
    StringBuilder all = new StringBuilder();
    for (Throwable t = failure; t != null; t = t.getCause()) {
      all.append(t.getMessage()).append('\n');
    }
    Matcher missing = CANNOT_OPEN.matcher(all);
    if (missing.find()) {
      return missing.group(1).equals(needed.file())
          ? "is not on this machine, or not where the dynamic linker looks"
          : "cannot be loaded: it needs " + missing.group(1) + ", which was not found";
    }
    Matcher version = VERSION_MISSING.matcher(all);
    if (version.find()) {
      return "is too old or too new: it lacks " + version.group(1);
    }
    Matcher damaged = NOT_A_LIBRARY.matcher(all);
    if (damaged.find()) {
      return "is damaged, or for another kind of machine: " + damaged.group();
    }
    if (failure instanceof NoClassDefFoundError) {
      return "cannot be used: JCuda's classes or natives are not on the class path ("
          + failure.getMessage()
          + ")";
    }
    String message = String.valueOf(failure.getMessage());
    return "cannot be loaded: " + message.lines().findFirst().orElse("");
  }

  /** Where libraries of CUDA toolkits usually lie, and where the user says. */
  private static Set<Path> folders() {
    Set<Path> folders = new LinkedHashSet<>();
    for (String variable : List.of("LD_LIBRARY_PATH", "PATH")) {
      if (variable.equals("LD_LIBRARY_PATH") || isWindows()) {
        addAll(folders, System.getenv(variable));
      }
    }
    for (String variable : List.of("CUDA_HOME", "CUDA_PATH")) {
      String home = System.getenv(variable);
      if (home != null && !home.isEmpty()) {
        folders.add(Path.of(home, "lib64"));
      }
    }
    try (DirectoryStream<Path> toolkits =
        Files.newDirectoryStream(Path.of("/usr/local"), "cuda*")) {
      List<Path> sorted = new ArrayList<>();
      toolkits.forEach(sorted::add);
      sorted.sort(Comparator.reverseOrder());
      for (Path toolkit : sorted) {
        folders.add(toolkit.resolve("lib64"));
        folders.add(toolkit.resolve("targets/x86_64-linux/lib"));
      }
    } catch (IOException e) {
      folders.add(Path.of("/usr/local/cuda/lib64"));
    }
    folders.add(Path.of("/usr/lib/x86_64-linux-gnu"));
    folders.add(Path.of("/usr/lib64"));
    return folders;
  }

  private static boolean isWindows() {
    return System.getProperty("os.name", "").toLowerCase(Locale.ROOT).startsWith("windows");
  }

  private static void addAll(Set<Path> folders, @Nullable String list) {
    if (list != null) {
      for (String folder : list.split(java.io.File.pathSeparator)) {
        if (!folder.isEmpty()) {
          folders.add(Path.of(folder));
        }
      }
    }
  }

  private static List<Path> present(Needed needed, Set<Path> folders) {
    List<Path> present = new ArrayList<>();
    for (Path folder : folders) {
      try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, needed.stem() + "*")) {
        files.forEach(present::add);
      } catch (IOException e) {
        continue; // not a folder of this machine
      }
    }
    present.sort(Comparator.naturalOrder());
    return present;
  }
}
