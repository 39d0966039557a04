package dev.nimble.planfile;

import com.google.common.collect.ImmutableList;
import com.google.common.primitives.ImmutableDoubleArray;
import com.google.common.primitives.ImmutableIntArray;
import com.google.common.primitives.ImmutableLongArray;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Shape;
import dev.nimble.graph.TensorType;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Random records of given types, by trial: constructors refuse most combinations. */
final class RandomRecords {
  private static final int MOST_TRIALS = 20_000;
  private static final int[] INTS = {0, 1, 1, 1, 2, 2, 3, 4, 7, -1, -2, 100, Integer.MIN_VALUE};
  private static final double[] REALS = {0, -0.0, 1, 0.5, -3.25, 1e-5, 1e30, Double.NaN};

  private final Random random;
  private final List<Class<?>> all;

  /**
   * @param all the records among which one is chosen where an interface is wanted
   */
  RandomRecords(Random random, List<Class<?>> all) {
    this.random = random;
    this.all = all;
  }

  /** A record that its constructor accepts; null if none was found. */
  <T> @Nullable T of(Class<T> type) {
    for (int trial = 0; trial < MOST_TRIALS; trial++) {
      try {
        return type.cast(make(type, random.nextInt(4), random.nextInt(4) == 0));
      } catch (InvocationTargetException e) {
        // refused: try again
      } catch (ReflectiveOperationException e) {
        throw new AssertionError(type + " cannot be made", e);
      }
    }
    return null;
  }

  private Object make(Class<?> type, int length, boolean wild) throws ReflectiveOperationException {
    RecordComponent[] components = type.getRecordComponents();
    Object[] values = new Object[components.length];
    Class<?>[] types = new Class<?>[components.length];
    for (int i = 0; i < values.length; i++) {
      types[i] = components[i].getType();
      boolean nullable = components[i].getAnnotatedType().isAnnotationPresent(Nullable.class);
      values[i] =
          nullable && random.nextBoolean()
              ? null
              : value(components[i].getGenericType(), length, wild);
    }
    Constructor<?> constructor = type.getDeclaredConstructor(types);
    constructor.setAccessible(true);
    return constructor.newInstance(values);
  }

  private int number(boolean wild) {
    return wild ? INTS[random.nextInt(INTS.length)] : 1 + random.nextInt(3);
  }

  private Object value(Type type, int length, boolean wild) throws ReflectiveOperationException {
    if (type == boolean.class || type == Boolean.class) {
      return random.nextBoolean();
    } else if (type == int.class || type == Integer.class) {
      return number(wild);
    } else if (type == long.class || type == Long.class) {
      return wild ? random.nextLong() : (long) number(false);
    } else if (type == float.class || type == Float.class) {
      return (float) REALS[random.nextInt(REALS.length)];
    } else if (type == double.class || type == Double.class) {
      return REALS[random.nextInt(REALS.length)];
    } else if (type == String.class) {
      return "text " + random.nextInt(5);
    } else if (type == ImmutableIntArray.class) {
      return ImmutableIntArray.copyOf(IntStream.range(0, length).map(i -> number(wild)));
    } else if (type == ImmutableLongArray.class) {
      return ImmutableLongArray.copyOf(IntStream.range(0, length).mapToLong(i -> number(wild)));
    } else if (type == ImmutableDoubleArray.class) {
      return ImmutableDoubleArray.copyOf(
          IntStream.range(0, length).mapToDouble(i -> REALS[random.nextInt(REALS.length)]));
    } else if (type == Shape.class) {
      return Shape.of(IntStream.range(0, length).map(i -> random.nextInt(4)).toArray());
    } else if (type == TensorType.class) {
      return new TensorType(
          DataType.values()[random.nextInt(DataType.values().length)],
          (Shape) value(Shape.class, length, wild));
    } else if (type instanceof ParameterizedType) {
      ImmutableList.Builder<Object> list = ImmutableList.builder();
      for (int i = 0; i < length; i++) {
        list.add(value(((ParameterizedType) type).getActualTypeArguments()[0], 2, wild));
      }
      return list.build();
    }
    Class<?> raw = (Class<?>) type;
    if (raw.isEnum()) {
      return raw.getEnumConstants()[random.nextInt(raw.getEnumConstants().length)];
    } else if (raw.isRecord()) {
      return make(raw, length, wild);
    }
    List<Class<?>> fitting = all.stream().filter(raw::isAssignableFrom).toList();
    if (fitting.isEmpty()) {
      throw new AssertionError("this test knows no value of " + type);
    }
    return make(fitting.get(random.nextInt(fitting.size())), length, wild);
  }

  @Override
  public String toString() {
    return "random records of " + Arrays.toString(all.toArray());
  }
}
