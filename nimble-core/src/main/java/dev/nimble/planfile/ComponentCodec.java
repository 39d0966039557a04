package dev.nimble.planfile;

import com.google.common.collect.ImmutableList;
import com.google.common.primitives.ImmutableDoubleArray;
import com.google.common.primitives.ImmutableIntArray;
import com.google.common.primitives.ImmutableLongArray;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Shape;
import dev.nimble.graph.TensorType;
import java.lang.reflect.AnnotatedParameterizedType;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** How values of one type are written and read. */
interface ComponentCodec {
  /** Writes a value, which is not null unless the type says so. */
  void write(Object value, Encoder out);

  /** Reads a value; {@code depth} is how many records it lies within. */
  @Nullable Object read(Decoder in, int depth);

  /** A codec for values that hold no records. */
  private static ComponentCodec of(Writer writer, Reader reader) {
    return new ComponentCodec() {
      @Override
      public void write(Object value, Encoder out) {
        writer.write(value, out);
      }

      @Override
      public Object read(Decoder in, int depth) {
        return reader.read(in);
      }
    };
  }

  /** The writing half of a codec. */
  interface Writer {
    /** Writes a value. */
    void write(Object value, Encoder out);
  }

  /** The reading half of a codec. */
  interface Reader {
    /** Reads a value. */
    Object read(Decoder in);
  }

  /** The types that need no record codec. */
  Map<Type, ComponentCodec> PLAIN = plain();

  private static Map<Type, ComponentCodec> plain() {
    Map<Type, ComponentCodec> plain = new HashMap<>();
    ComponentCodec flag = of((v, out) -> out.flag((Boolean) v), in -> in.flag("a flag"));
    ComponentCodec whole =
        of(
            (v, out) -> out.signed((Integer) v),
            in -> {
              long value = in.signed("an int");
              if (value != (int) value) {
                throw in.damaged("an int is " + value);
              }
              return (int) value;
            });
    ComponentCodec wide = of((v, out) -> out.signed((Long) v), in -> in.signed("a long"));
    ComponentCodec single =
        of(
            (v, out) -> out.fixed(Float.floatToRawIntBits((Float) v), 4),
            in -> Float.intBitsToFloat((int) in.fixed(4)));
    ComponentCodec real =
        of(
            (v, out) -> out.fixed(Double.doubleToRawLongBits((Double) v), 8),
            in -> Double.longBitsToDouble(in.fixed(8)));
    plain.put(boolean.class, flag);
    plain.put(Boolean.class, flag);
    plain.put(int.class, whole);
    plain.put(Integer.class, whole);
    plain.put(long.class, wide);
    plain.put(Long.class, wide);
    plain.put(float.class, single);
    plain.put(Float.class, single);
    plain.put(double.class, real);
    plain.put(Double.class, real);
    plain.put(String.class, of((v, out) -> out.text((String) v), in -> in.text("a text")));
    plain.put(
        ImmutableIntArray.class,
        of(
            (v, out) -> {
              out.number(((ImmutableIntArray) v).length());
              ((ImmutableIntArray) v).forEach(out::signed);
            },
            in -> {
              int[] values = new int[in.count("ints", Integer.MAX_VALUE)];
              for (int i = 0; i < values.length; i++) {
                values[i] = (Integer) whole.read(in, 0);
              }
              return ImmutableIntArray.copyOf(values);
            }));
    plain.put(
        ImmutableLongArray.class,
        of(
            (v, out) -> {
              out.number(((ImmutableLongArray) v).length());
              ((ImmutableLongArray) v).forEach(out::signed);
            },
            in -> {
              long[] values = new long[in.count("longs", Integer.MAX_VALUE)];
              for (int i = 0; i < values.length; i++) {
                values[i] = in.signed("a long");
              }
              return ImmutableLongArray.copyOf(values);
            }));
    plain.put(
        ImmutableDoubleArray.class,
        of(
            (v, out) -> {
              out.number(((ImmutableDoubleArray) v).length());
              ((ImmutableDoubleArray) v).forEach(d -> real.write(d, out));
            },
            in -> {
              double[] values = new double[in.count("doubles", Integer.MAX_VALUE)];
              for (int i = 0; i < values.length; i++) {
                values[i] = (Double) real.read(in, 0);
              }
              return ImmutableDoubleArray.copyOf(values);
            }));
    plain.put(Shape.class, of((v, out) -> writeShape((Shape) v, out), ComponentCodec::readShape));
    plain.put(
        TensorType.class, of((v, out) -> writeType((TensorType) v, out), ComponentCodec::readType));
    return Map.copyOf(plain);
  }

  static void writeShape(Shape shape, Encoder out) {
    out.number(shape.rank());
    for (int extent : shape.toArray()) {
      out.number(extent);
    }
  }

  static Shape readShape(Decoder in) {
    int[] extents = new int[in.count("axes", Integer.MAX_VALUE)];
    for (int i = 0; i < extents.length; i++) {
      extents[i] = in.small("an extent", Integer.MAX_VALUE);
    }
    return Shape.of(extents);
  }

  static void writeType(TensorType type, Encoder out) {
    out.text(type.dataType().name());
    writeShape(type.shape(), out);
  }

  static TensorType readType(Decoder in) {
    DataType dataType = DataType.class.cast(ofEnum(DataType.class).read(in, 0));
    return new TensorType(dataType, readShape(in));
  }

  /** Constants by name, so that a new one in between changes nothing. */
  static ComponentCodec ofEnum(Class<?> type) {
    Map<String, Object> constants = new HashMap<>();
    for (Object constant : type.getEnumConstants()) {
      constants.put(((Enum<?>) constant).name(), constant);
    }
    return of(
        (v, out) -> out.text(((Enum<?>) v).name()),
        in -> {
          String name = in.text("a " + type.getSimpleName());
          Object constant = constants.get(name);
          if (constant == null) {
            throw in.damaged("there is no " + type.getSimpleName() + " '" + name + "'");
          }
          return constant;
        });
  }

  /** A list of values of {@code element}. */
  private static ComponentCodec listOf(ComponentCodec element) {
    return new ComponentCodec() {
      @Override
      public void write(Object value, Encoder out) {
        List<?> list = (List<?>) value;
        out.number(list.size());
        list.forEach(v -> element.write(v, out));
      }

      @Override
      public Object read(Decoder in, int depth) {
        int size = in.count("list elements", Integer.MAX_VALUE);
        ImmutableList.Builder<Object> list = ImmutableList.builder();
        for (int i = 0; i < size; i++) {
          Object value = element.read(in, depth);
          if (value == null) {
            throw in.damaged("a list element is missing");
          }
          list.add(value);
        }
        return list.build();
      }
    };
  }

  /** Null, or a value of {@code present}. */
  private static ComponentCodec nullable(ComponentCodec present) {
    return new ComponentCodec() {
      @Override
      public void write(@Nullable Object value, Encoder out) {
        out.flag(value != null);
        if (value != null) {
          present.write(value, out);
        }
      }

      @Override
      public @Nullable Object read(Decoder in, int depth) {
        return in.flag("whether there is a value") ? present.read(in, depth) : null;
      }
    };
  }

  /**
   * The codec for a component's type.
   *
   * @throws InvalidArgumentException if there is none
   */
  static ComponentCodec of(AnnotatedType annotated, RecordCodec records) {
    ComponentCodec plain = ofPresent(annotated, records);
    return annotated.isAnnotationPresent(Nullable.class) ? nullable(plain) : plain;
  }

  private static ComponentCodec ofPresent(AnnotatedType annotated, RecordCodec records) {
    Type type = annotated.getType();
    ComponentCodec plain = PLAIN.get(type);
    if (plain != null) {
      return plain;
    }
    if (annotated instanceof AnnotatedParameterizedType) {
      Type raw = ((ParameterizedType) type).getRawType();
      if (raw == ImmutableList.class || raw == List.class) {
        AnnotatedType[] arguments =
            ((AnnotatedParameterizedType) annotated).getAnnotatedActualTypeArguments();
        return listOf(of(arguments[0], records));
      }
    } else if (type instanceof Class) {
      Class<?> raw = (Class<?>) type;
      if (raw.isEnum() && records.mayHold(raw)) {
        return ofEnum(raw);
      }
      if ((raw.isRecord() || raw.isInterface()) && records.mayHold(raw)) {
        return records.of(raw);
      }
    }
    throw new InvalidArgumentException("a plan file cannot hold a " + type.getTypeName());
  }
}
