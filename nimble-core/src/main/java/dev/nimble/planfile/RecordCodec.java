package dev.nimble.planfile;

import com.google.common.collect.ImmutableList;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.error.NimbleException;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Writes and reads records (operators and what they consist of) by their components, so that a new
 * operator needs no code here. Only records of a few packages are ever looked up, and they are made
 * only by their canonical constructors, which check. A record type is described where it first
 * occurs: its name, and name and type of each component; so a file tells when an operator has
 * changed since. For one file only.
 */
final class RecordCodec {
  /** Where operators and their parts live. */
  static final ImmutableList<String> LIBRARY =
      ImmutableList.of("dev.nimble.op", "dev.nimble.graph");

  private static final int MOST_NESTED = 16;

  private final ImmutableList<String> packages;
  private final Map<Class<?>, RecordType> types = new HashMap<>();
  private final Map<Class<?>, Integer> written = new HashMap<>();
  private final List<RecordType> read = new ArrayList<>();

  /** For records of these packages. */
  RecordCodec(ImmutableList<String> packages) {
    this.packages = packages;
  }

  /** One component of a record type. */
  private record Component(
      RecordComponent declared, String type, Method accessor, ComponentCodec codec) {
    String name() {
      return declared.getName();
    }

    /** Whether a byte says if there is a value. */
    boolean isReference() {
      return !declared.getType().isPrimitive();
    }

    boolean mayBeNull() {
      return isReference() && declared.getAnnotatedType().isAnnotationPresent(Nullable.class);
    }
  }

  /** A record type, taken apart. */
  private record RecordType(
      Class<?> type, Constructor<?> constructor, ImmutableList<Component> components) {}

  /** Whether {@code type} is in one of the packages. */
  boolean mayHold(Class<?> type) {
    return packages.contains(type.getPackageName());
  }

  /**
   * Writes {@code value}.
   *
   * @throws InvalidArgumentException if it is no record of the packages, or holds what no file can
   */
  void write(Object value, Encoder out) {
    Class<?> type = value.getClass();
    RecordType known = types.get(type);
    if (known == null) {
      if (!type.isRecord() || !mayHold(type)) {
        throw new InvalidArgumentException(
            "it is of "
                + type
                + ", which is not one of this library's operators; a plan file holds only those");
      }
      known = describe(type);
    }
    Integer index = written.get(type);
    if (index != null) {
      out.number(index);
    } else {
      written.put(type, written.size() + 1);
      out.number(0);
      out.text(nameOf(type));
      out.number(known.components.size());
      for (Component component : known.components) {
        out.text(component.name());
        out.text(component.type);
      }
    }
    for (Component component : known.components) {
      Object part = valueOf(component, value);
      if (component.isReference()) {
        out.flag(part != null);
      }
      if (part != null) {
        component.codec.write(part, out);
      }
    }
  }

  private static @Nullable Object valueOf(Component component, Object value) {
    try {
      return component.accessor.invoke(value);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(component.name() + " of " + value + " cannot be read", e);
    }
  }

  private static String nameOf(Class<?> type) {
    return type.getName().substring(type.getPackageName().length() + 1);
  }

  private RecordType describe(Class<?> type) {
    ImmutableList.Builder<Component> components = ImmutableList.builder();
    RecordComponent[] declared = type.getRecordComponents();
    Class<?>[] parameters = new Class<?>[declared.length];
    try {
      for (int i = 0; i < declared.length; i++) {
        RecordComponent component = declared[i];
        parameters[i] = component.getType();
        Method accessor = component.getAccessor();
        accessor.setAccessible(true);
        Type full =
            parameters[i].getTypeParameters().length == 0
                ? parameters[i]
                : component.getGenericType();
        components.add(
            new Component(component, typeOf(full), accessor, ComponentCodec.of(full, this)));
      }
      Constructor<?> constructor = type.getDeclaredConstructor(parameters);
      constructor.setAccessible(true);
      RecordType described = new RecordType(type, constructor, components.build());
      types.put(type, described);
      return described;
    } catch (NoSuchMethodException e) {
      throw new IllegalStateException(type + " has no canonical constructor", e);
    } catch (InvalidArgumentException e) {
      throw new InvalidArgumentException(nameOf(type) + ": " + e.what(), e.location(), e);
    }
  }

  /** For example {@code ImmutableList<FusedElementwise$Step>}. */
  private static String typeOf(Type type) {
    if (type instanceof ParameterizedType) {
      ParameterizedType full = (ParameterizedType) type;
      return typeOf(full.getRawType()) + "<" + typeOf(full.getActualTypeArguments()[0]) + ">";
    }
    return type.getTypeName().substring(type.getTypeName().lastIndexOf('.') + 1);
  }

  /**
   * Reads a record that is an {@code expected}.
   *
   * @throws dev.nimble.error.InvalidPlanException if there is none, or its constructor refuses its
   *     components
   */
  <T> T read(Class<T> expected, Decoder in) {
    return expected.cast(read(expected, in, 0));
  }

  Object read(Class<?> expected, Decoder in, int depth) {
    if (depth > MOST_NESTED) {
      throw in.damaged("records are nested more than " + MOST_NESTED + " deep");
    }
    RecordType type = readType(expected, in);
    @Nullable Object[] values = new Object[type.components.size()];
    for (int i = 0; i < values.length; i++) {
      values[i] = readComponent(type.components.get(i), in, depth);
    }
    try {
      return type.constructor.newInstance(values);
    } catch (InvocationTargetException e) {
      Throwable cause = Objects.requireNonNullElse(e.getCause(), e);
      String why =
          cause instanceof NimbleException ? ((NimbleException) cause).what() : cause.toString();
      throw in.damaged("there can be no such " + nameOf(type.type) + ": " + why);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(type.type + " cannot be made", e);
    }
  }

  private static @Nullable Object readComponent(Component component, Decoder in, int depth) {
    if (component.isReference() && !in.flag("whether there is a value")) {
      if (!component.mayBeNull()) {
        throw in.damaged("component " + component.name() + " is missing");
      }
      return null;
    }
    return component.codec.read(in, depth);
  }

  private RecordType readType(Class<?> expected, Decoder in) {
    int index = in.small("an operator's type", read.size());
    RecordType type = index > 0 ? read.get(index - 1) : newType(in);
    if (!expected.isAssignableFrom(type.type)) {
      throw in.damaged(nameOf(type.type) + " is no " + expected.getSimpleName());
    }
    return type;
  }

  private RecordType newType(Decoder in) {
    String name = in.text("an operator's name");
    Class<?> found = find(name);
    if (found == null) {
      throw in.damaged("this version of the library has no operator '" + shortened(name) + "'");
    }
    RecordType known = types.get(found);
    RecordType type = known == null ? describe(found) : known;
    List<String> own = new ArrayList<>();
    for (Component component : type.components) {
      own.add(component.name() + ": " + component.type);
    }
    List<String> given = new ArrayList<>();
    for (int i = in.count("components of " + name, 255); i > 0; i--) {
      given.add(in.text("a component's name") + ": " + in.text("a component's type"));
    }
    if (!own.equals(given)) {
      throw in.damaged(
          "operator "
              + name
              + " has "
              + shortened(given.toString())
              + " there and "
              + own
              + " in this version of the library; save the plan again with this version");
    }
    read.add(type);
    return type;
  }

  private static String shortened(String text) {
    return text.length() > 500 ? text.substring(0, 500) + "..." : text;
  }

  /** The record type of that name, loaded but not initialised; null if there is none. */
  private @Nullable Class<?> find(String name) {
    if (name.length() > 200 || !name.matches("[A-Za-z][A-Za-z0-9_$]*")) {
      return null;
    }
    for (String folder : packages) {
      try {
        Class<?> type =
            Class.forName(folder + "." + name, false, RecordCodec.class.getClassLoader());
        if (type.isRecord() && mayHold(type)) {
          return type;
        }
      } catch (ClassNotFoundException | LinkageError e) {
        // not in this package
      }
    }
    return null;
  }
}
