package dev.nimble.planfile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.common.collect.ImmutableList;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.error.InvalidPlanException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.op.Binary;
import dev.nimble.op.BinaryFunction;
import dev.nimble.op.Cast;
import dev.nimble.op.Elementwise;
import dev.nimble.op.Window;
import dev.nimble.testkit.Seeds;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class RecordCodecTest {
  private static final List<Class<?>> OPERATORS = operators();

  /** Every operator of the library, found among its classes. */
  private static List<Class<?>> operators() {
    try {
      Path place =
          Path.of(Operator.class.getProtectionDomain().getCodeSource().getLocation().toURI());
      List<Class<?>> operators = new ArrayList<>();
      new ClassFileImporter()
          .importPath(place).stream()
              .filter(c -> c.isAssignableTo(Operator.class) && !c.isInterface())
              .forEach(c -> operators.add(c.reflect()));
      return operators;
    } catch (URISyntaxException e) {
      throw new AssertionError(e);
    }
  }

  private static RecordCodec library() {
    return new RecordCodec(RecordCodec.LIBRARY);
  }

  @Test
  void everyOperatorOfTheLibraryMakesTheRoundTrip() {
    assertThat(OPERATORS).hasSizeGreaterThan(30);
    assertThat(OPERATORS).allMatch(Class::isRecord, "is a record");
    Seeds.forEach(
        20,
        (random, seed) -> {
          RandomRecords records = new RandomRecords(random, OPERATORS);
          Encoder out = new Encoder();
          RecordCodec writer = library();
          List<Object> written = new ArrayList<>();
          for (Class<?> type : OPERATORS) {
            Object operator = records.of(type);
            assertThat(operator).as("a random " + type).isNotNull();
            written.add(operator);
            writer.write(operator, out);
          }
          Decoder in = new Decoder(out.toByteArray());
          RecordCodec reader = library();
          for (Object operator : written) {
            Operator read = reader.read(Operator.class, in);
            assertThat(read).isEqualTo(operator).hasSameHashCodeAs(operator);
            assertThat(read.toString()).isEqualTo(operator.toString());
          }
          in.end();
        });
  }

  @Test
  void aRecordIsWrittenOnceWithItsComponentsAndThenByNumber() {
    Encoder once = new Encoder();
    library().write(new Cast(DataType.F16), once);
    Encoder twice = new Encoder();
    RecordCodec codec = library();
    codec.write(new Cast(DataType.F16), twice);
    codec.write(new Cast(DataType.F16), twice);
    assertThat(twice.toByteArray().length - once.toByteArray().length).isEqualTo(3);
    assertThat(new String(once.toByteArray(), java.nio.charset.StandardCharsets.ISO_8859_1))
        .contains("Cast", "to", "DataType", "F16");
  }

  /** Not of the library's packages. */
  private record Foreign(int number) implements Operator {
    @Override
    public String name() {
      return "Foreign";
    }

    @Override
    public List<TensorType> infer(List<TensorType> inputs) {
      return inputs;
    }

    @Override
    public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
      return () -> {};
    }
  }

  /** What no codec knows. */
  private record Unknown(float[] numbers) {}

  private record UnknownWithin(ImmutableList<Thread> threads) {}

  private record Nested(ImmutableList<Nested> inner) {}

  private static final ImmutableList<String> HERE = ImmutableList.of("dev.nimble.planfile");

  @Test
  void foreignRecordsAreRefused() {
    Encoder out = new Encoder();
    assertThatThrownBy(() -> library().write(new Foreign(3), out))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessageContaining("Foreign");
    Encoder lambda = new Encoder();
    assertThatThrownBy(() -> library().write((Runnable) () -> {}, lambda))
        .isInstanceOf(InvalidArgumentException.class);
    new RecordCodec(HERE).write(new Foreign(3), out);
    assertThatThrownBy(() -> library().read(Operator.class, new Decoder(out.toByteArray())))
        .isInstanceOf(InvalidPlanException.class)
        .hasMessageContaining("no operator 'RecordCodecTest$Foreign'");
    assertThat(new RecordCodec(HERE).read(Operator.class, new Decoder(out.toByteArray())))
        .isEqualTo(new Foreign(3));
  }

  @Test
  void componentsOfUnknownTypesFailLoudly() {
    RecordCodec codec = new RecordCodec(HERE);
    assertThatThrownBy(() -> codec.write(new Unknown(new float[1]), new Encoder()))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessageContaining("Unknown")
        .hasMessageContaining("float[]");
    assertThatThrownBy(() -> codec.write(new UnknownWithin(ImmutableList.of()), new Encoder()))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessageContaining("java.lang.Thread");
  }

  @Test
  void nestingIsBounded() {
    assertThat(new RecordCodec(HERE).read(Nested.class, new Decoder(nested(16)))).isNotNull();
    assertThatThrownBy(() -> new RecordCodec(HERE).read(Nested.class, new Decoder(nested(17))))
        .isInstanceOf(InvalidPlanException.class)
        .hasMessageContaining("deep");
  }

  private static byte[] nested(int depth) {
    Nested nested = new Nested(ImmutableList.of());
    for (int i = 0; i < depth; i++) {
      nested = new Nested(ImmutableList.of(nested));
    }
    Encoder out = new Encoder();
    new RecordCodec(HERE).write(nested, out);
    return out.toByteArray();
  }

  /** What is written for {@code value}, with one text replaced by another of the same length. */
  private static Decoder replaced(Object value, String from, String to) {
    Encoder out = new Encoder();
    library().write(value, out);
    var latin = java.nio.charset.StandardCharsets.ISO_8859_1;
    String bytes = new String(out.toByteArray(), latin);
    assertThat(bytes).contains(from);
    return new Decoder(bytes.replaceFirst(from, to).getBytes(latin));
  }

  @Test
  void anotherShapeOfAnOperatorIsNamed() {
    Object add = new Binary(BinaryFunction.ADD);
    assertThatThrownBy(() -> library().read(Operator.class, replaced(add, "function", "functiom")))
        .isInstanceOf(InvalidPlanException.class)
        .hasMessageContaining("operator Binary")
        .hasMessageContaining("functiom")
        .hasMessageContaining("save the plan again");
    assertThatThrownBy(() -> library().read(Operator.class, replaced(add, "ADD", "ADX")))
        .isInstanceOf(InvalidPlanException.class)
        .hasMessageContaining("BinaryFunction 'ADX'");
    assertThatThrownBy(() -> library().read(Operator.class, replaced(add, "Binary", "Bynary")))
        .isInstanceOf(InvalidPlanException.class)
        .hasMessageContaining("no operator 'Bynary'");
  }

  @Test
  void recordsOfTheWrongKindAreRefused() {
    Encoder out = new Encoder();
    library().write(Window.unit(2), out);
    assertThatThrownBy(() -> library().read(Operator.class, new Decoder(out.toByteArray())))
        .isInstanceOf(InvalidPlanException.class)
        .hasMessageContaining("Window is no Operator");
    Encoder conv = new Encoder();
    library().write(new dev.nimble.op.Conv(Window.unit(2), 1), conv);
    assertThatThrownBy(() -> library().read(Elementwise.class, new Decoder(conv.toByteArray())))
        .isInstanceOf(InvalidPlanException.class)
        .hasMessageContaining("Conv is no Elementwise");
  }

  @Test
  void damagedRecordsAreRefusedOrMakeRecords() {
    Seeds.forEach(
        300,
        (random, seed) -> {
          RandomRecords records = new RandomRecords(random, OPERATORS);
          Encoder out = new Encoder();
          RecordCodec writer = library();
          for (int i = 0; i < 3; i++) {
            writer.write(records.of(OPERATORS.get(random.nextInt(OPERATORS.size()))), out);
          }
          byte[] bytes = out.toByteArray();
          for (int i = 0; i < 20; i++) {
            readDamaged(bytes.clone(), random);
          }
        });
  }

  private static void readDamaged(byte[] bytes, Random random) {
    for (int k = 1 + random.nextInt(3); k > 0; k--) {
      bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
    }
    Decoder in = new Decoder(bytes);
    RecordCodec reader = library();
    try {
      for (int i = 0; i < 3; i++) {
        assertThat(reader.read(Operator.class, in)).isNotNull();
      }
    } catch (InvalidPlanException e) {
      assertThat(e.what()).isNotEmpty();
    } catch (dev.nimble.error.InvalidModelException e) { // a shape that cannot be
      assertThat(e.what()).isNotEmpty();
    }
  }
}
