package dev.nimble.planfile;

import com.google.common.collect.ImmutableList;
import com.google.common.primitives.ImmutableDoubleArray;
import com.google.common.primitives.ImmutableIntArray;
import com.google.common.primitives.ImmutableLongArray;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Shape;
import dev.nimble.graph.TensorType;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How values of one type, which are not null, are written and read. (A switch and no lambdas: most
 * of the time of a load in a fresh JVM goes into classes.)
 */
final class ComponentCodec {
  /** What there is. */
  private enum Kind {
    FLAG,
    INT,
    LONG,
    FLOAT,
    DOUBLE,
    TEXT,
    INTS,
    LONGS,
    DOUBLES,
    SHAPE,
    TYPE,
    ENUM,
    LIST,
    RECORD
  }

  private static final ComponentCodec DATA_TYPE =
      new ComponentCodec(Kind.ENUM, DataType.class, null, null);

  private final Kind kind;
  private final Class<?> type;
  private final @Nullable ComponentCodec element;
  private final @Nullable RecordCodec records;

  private ComponentCodec(
      Kind kind, Class<?> type, @Nullable ComponentCodec element, @Nullable RecordCodec records) {
    this.kind = kind;
    this.type = type;
    this.element = element;
    this.records = records;
  }

  /**
   * The codec for a component's type.
   *
   * @throws InvalidArgumentException if there is none
   */
  static ComponentCodec of(Type type, RecordCodec records) {
    if (type instanceof ParameterizedType) {
      Type raw = ((ParameterizedType) type).getRawType();
      if (raw == ImmutableList.class || raw == List.class) {
        Type element = ((ParameterizedType) type).getActualTypeArguments()[0];
        return new ComponentCodec(Kind.LIST, List.class, of(element, records), null);
      }
    } else if (type instanceof Class) {
      Class<?> raw = (Class<?>) type;
      Kind kind = kindOf(raw, records);
      if (kind != null) {
        return new ComponentCodec(kind, raw, null, records);
      }
    }
    throw new InvalidArgumentException("a plan file cannot hold a " + type.getTypeName());
  }

  private static @Nullable Kind kindOf(Class<?> type, RecordCodec records) {
    if (type == boolean.class || type == Boolean.class) {
      return Kind.FLAG;
    } else if (type == int.class || type == Integer.class) {
      return Kind.INT;
    } else if (type == long.class || type == Long.class) {
      return Kind.LONG;
    } else if (type == float.class || type == Float.class) {
      return Kind.FLOAT;
    } else if (type == double.class || type == Double.class) {
      return Kind.DOUBLE;
    } else if (type == String.class) {
      return Kind.TEXT;
    } else if (type == ImmutableIntArray.class) {
      return Kind.INTS;
    } else if (type == ImmutableLongArray.class) {
      return Kind.LONGS;
    } else if (type == ImmutableDoubleArray.class) {
      return Kind.DOUBLES;
    } else if (type == Shape.class) {
      return Kind.SHAPE;
    } else if (type == TensorType.class) {
      return Kind.TYPE;
    } else if (type.isEnum() && records.mayHold(type)) {
      return Kind.ENUM;
    } else if ((type.isRecord() || type.isInterface()) && records.mayHold(type)) {
      return Kind.RECORD;
    }
    return null;
  }

  void write(Object value, Encoder out) {
    switch (kind) {
      case FLAG:
        out.flag((Boolean) value);
        break;
      case INT:
        out.signed((Integer) value);
        break;
      case LONG:
        out.signed((Long) value);
        break;
      case FLOAT:
        out.fixed(Float.floatToRawIntBits((Float) value), 4);
        break;
      case DOUBLE:
        out.fixed(Double.doubleToRawLongBits((Double) value), 8);
        break;
      case TEXT:
        out.text((String) value);
        break;
      case INTS:
        ImmutableIntArray ints = (ImmutableIntArray) value;
        out.number(ints.length());
        for (int i = 0; i < ints.length(); i++) {
          out.signed(ints.get(i));
        }
        break;
      case LONGS:
        ImmutableLongArray longs = (ImmutableLongArray) value;
        out.number(longs.length());
        for (int i = 0; i < longs.length(); i++) {
          out.signed(longs.get(i));
        }
        break;
      case DOUBLES:
        ImmutableDoubleArray doubles = (ImmutableDoubleArray) value;
        out.number(doubles.length());
        for (int i = 0; i < doubles.length(); i++) {
          out.fixed(Double.doubleToRawLongBits(doubles.get(i)), 8);
        }
        break;
      case SHAPE:
        writeShape((Shape) value, out);
        break;
      case TYPE:
        writeType((TensorType) value, out);
        break;
      case ENUM: // by name, so that a new constant changes nothing
        out.text(((Enum<?>) value).name());
        break;
      case LIST:
        List<?> list = (List<?>) value;
        out.number(list.size());
        for (Object each : list) {
          present(element).write(each, out);
        }
        break;
      default:
        present(records).write(value, out);
        break;
    }
  }

  /** Reads a value; {@code depth} is how many records it lies within. */
  Object read(Decoder in, int depth) {
    switch (kind) {
      case FLAG:
        return in.flag("a flag");
      case INT:
        return readInt(in);
      case LONG:
        return in.signed("a long");
      case FLOAT:
        return Float.intBitsToFloat((int) in.fixed(4));
      case DOUBLE:
        return Double.longBitsToDouble(in.fixed(8));
      case TEXT:
        return in.text("a text");
      case INTS:
        int[] ints = new int[in.count("ints", Integer.MAX_VALUE)];
        for (int i = 0; i < ints.length; i++) {
          ints[i] = readInt(in);
        }
        return ImmutableIntArray.copyOf(ints);
      case LONGS:
        long[] longs = new long[in.count("longs", Integer.MAX_VALUE)];
        for (int i = 0; i < longs.length; i++) {
          longs[i] = in.signed("a long");
        }
        return ImmutableLongArray.copyOf(longs);
      case DOUBLES:
        double[] doubles = new double[in.count("doubles", Integer.MAX_VALUE)];
        for (int i = 0; i < doubles.length; i++) {
          doubles[i] = Double.longBitsToDouble(in.fixed(8));
        }
        return ImmutableDoubleArray.copyOf(doubles);
      case SHAPE:
        return readShape(in);
      case TYPE:
        return readType(in);
      case ENUM:
        return readEnum(in);
      case LIST:
        int size = in.count("list elements", Integer.MAX_VALUE);
        ImmutableList.Builder<Object> list = ImmutableList.builder();
        for (int i = 0; i < size; i++) {
          list.add(present(element).read(in, depth));
        }
        return list.build();
      default:
        return present(records).read(type, in, depth + 1);
    }
  }

  private static int readInt(Decoder in) {
    long value = in.signed("an int");
    if (value != (int) value) {
      throw in.damaged("an int is " + value);
    }
    return (int) value;
  }

  private Object readEnum(Decoder in) {
    String name = in.text("a constant");
    for (Object constant : type.getEnumConstants()) {
      if (((Enum<?>) constant).name().equals(name)) {
        return constant;
      }
    }
    throw in.damaged("there is no " + type.getSimpleName() + " '" + name + "'");
  }

  private static <T> T present(@Nullable T part) {
    if (part == null) {
      throw new IllegalStateException("a codec lacks a part");
    }
    return part;
  }

  private static void writeShape(Shape shape, Encoder out) {
    out.number(shape.rank());
    for (int extent : shape.toArray()) {
      out.number(extent);
    }
  }

  private static Shape readShape(Decoder in) {
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
    return new TensorType((DataType) DATA_TYPE.readEnum(in), readShape(in));
  }
}
