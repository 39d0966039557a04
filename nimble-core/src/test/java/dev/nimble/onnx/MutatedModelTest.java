package dev.nimble.onnx;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.nimble.error.InvalidModelException;
import dev.nimble.error.NimbleException;
import dev.nimble.testkit.RealModels;
import dev.nimble.testkit.Seeds;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * Damaged models: whatever is changed, the import succeeds or fails with an {@link
 * InvalidModelException}, soon and in little memory. The models are the real ones with their large
 * weights made inputs, so that nearly every byte is structure.
 */
class MutatedModelTest {
  private static final ImportLimits LIMITS =
      ImportLimits.defaults().withComputedBytes(1 << 24).withNodes(20_000);
  private static final long[] NUMBERS = {
    0,
    1,
    2,
    3,
    4,
    7,
    100,
    65536,
    -1,
    -2,
    -3,
    Integer.MAX_VALUE,
    Integer.MIN_VALUE,
    1L << 31,
    1L << 40,
    1L << 62,
    Long.MAX_VALUE,
    Long.MIN_VALUE
  };

  private static final Map<RealModels, ModelProto> BARE = new EnumMap<>(RealModels.class);

  @TestFactory
  Stream<DynamicTest> bytesFlipped() {
    return overModels(
        40,
        (model, random) -> {
          byte[] bytes = model.toByteArray();
          for (int k = 1 + random.nextInt(4); k > 0; k--) {
            bytes[random.nextInt(bytes.length)] ^= (byte) (1 << random.nextInt(8));
          }
          return bytes;
        });
  }

  @TestFactory
  Stream<DynamicTest> bytesCutOutOrDoubled() {
    return overModels(
        40,
        (model, random) -> {
          byte[] bytes = model.toByteArray();
          int from = random.nextInt(bytes.length);
          int to = Math.min(bytes.length, from + 1 + random.nextInt(64));
          boolean cut = random.nextBoolean();
          byte[] head = Arrays.copyOf(bytes, cut ? from : to);
          byte[] tail = Arrays.copyOfRange(bytes, cut ? to : from, bytes.length);
          return ByteString.copyFrom(head).concat(ByteString.copyFrom(tail)).toByteArray();
        });
  }

  @TestFactory
  Stream<DynamicTest> truncated() {
    return overModels(
        20,
        (model, random) -> {
          byte[] bytes = model.toByteArray();
          return Arrays.copyOf(bytes, random.nextInt(bytes.length));
        });
  }

  @TestFactory
  Stream<DynamicTest> fieldsChanged() {
    return overModels(
        120,
        (model, random) -> {
          ModelProto.Builder changed = model.toBuilder();
          for (int k = 1 + random.nextInt(3); k > 0; k--) {
            change(changed.getGraphBuilder(), random);
          }
          if (random.nextInt(20) == 0) {
            changed.getOpsetImportBuilder(0).setVersion(7 + random.nextInt(15));
          }
          return changed.build().toByteArray();
        });
  }

  /**
   * ONNX's backend cases with fields changed; their inputs are held, so that what is worked out at
   * import is reached.
   */
  @TestFactory
  Stream<DynamicTest> backendCases() throws IOException {
    Path node = Path.of("/usr/share/libonnx-testdata/data/node");
    assumeTrue(Files.isDirectory(node), "the package libonnx-testdata is not installed");
    List<Path> cases;
    try (Stream<Path> all = Files.list(node)) {
      cases = all.sorted().collect(Collectors.toList());
    }
    return cases.stream()
        .map(one -> DynamicTest.dynamicTest(String.valueOf(one.getFileName()), () -> mutate(one)));
  }

  private static void mutate(Path folder) throws IOException {
    ModelProto sound = held(folder);
    Seeds.forEach(
        6,
        (unused, seed) -> {
          Random random = new Random(seed * 31 + String.valueOf(folder.getFileName()).hashCode());
          ModelProto.Builder changed = sound.toBuilder();
          for (int k = 1 + random.nextInt(2); k > 0; k--) {
            if (changed.getGraph().getNodeCount() > 0) {
              change(changed.getGraphBuilder(), random);
            }
          }
          importOrRefuse(changed.build().toByteArray(), model -> Map.of());
        });
  }

  /** The model with its inputs as initializers. */
  private static ModelProto held(Path folder) throws IOException {
    ModelProto model = ModelProto.parseFrom(Files.readAllBytes(folder.resolve("model.onnx")));
    GraphProto.Builder graph = model.getGraph().toBuilder();
    for (int i = 0; i < model.getGraph().getInputCount(); i++) {
      Path file = folder.resolve("test_data_set_0/input_" + i + ".pb");
      if (model.getGraph().getInput(i).getType().hasTensorType() && Files.exists(file)) {
        TensorProto tensor = TensorProto.parseFrom(Files.readAllBytes(file));
        graph.addInitializer(tensor.toBuilder().setName(model.getGraph().getInput(i).getName()));
      }
    }
    return model.toBuilder().setGraph(graph).build();
  }

  private static void change(GraphProto.Builder graph, Random random) {
    NodeProto.Builder node = graph.getNodeBuilder(random.nextInt(graph.getNodeCount()));
    NodeProto other = graph.getNode(random.nextInt(graph.getNodeCount()));
    switch (random.nextInt(12)) {
      case 0:
        graph.removeNode(random.nextInt(graph.getNodeCount()));
        break;
      case 1:
        graph.addNode(other);
        break;
      case 2:
        node.setOpType(other.getOpType());
        break;
      case 3:
        node.clearInput().addAllInput(other.getInputList());
        break;
      case 4:
        if (node.getInputCount() > 0) {
          node.setInput(
              random.nextInt(node.getInputCount()),
              random.nextInt(4) == 0
                  ? ""
                  : other.getOutputCount() > 0 ? other.getOutput(0) : "nobody");
        }
        break;
      case 5:
        node.clearAttribute().addAllAttribute(other.getAttributeList());
        break;
      case 6:
        node.addInput(other.getInputCount() > 0 ? other.getInput(0) : "x");
        break;
      case 7:
        List<NodeProto> known =
            graph.getNodeList().stream()
                .filter(n -> n.getAttributeList().stream().anyMatch(AttributeProto::hasT))
                .collect(Collectors.toList());
        if (!known.isEmpty()) {
          NodeProto chosen = known.get(random.nextInt(known.size()));
          int index = graph.getNodeList().indexOf(chosen);
          for (AttributeProto.Builder a : graph.getNodeBuilder(index).getAttributeBuilderList()) {
            changeTensor(a.getTBuilder(), random);
          }
        }
        break;
      case 8:
        if (graph.getInitializerCount() > 0) {
          changeTensor(
              graph.getInitializerBuilder(random.nextInt(graph.getInitializerCount())), random);
        }
        break;
      default:
        if (node.getAttributeCount() > 0) {
          changeAttribute(
              node.getAttributeBuilder(random.nextInt(node.getAttributeCount())), random);
        }
        break;
    }
  }

  private static void changeAttribute(AttributeProto.Builder attribute, Random random) {
    switch (random.nextInt(8)) {
      case 0:
        attribute.setType(AttributeProto.AttributeType.forNumber(random.nextInt(12)));
        break;
      case 1:
        attribute.setName("pads");
        break;
      case 2:
        attribute.addInts(number(random));
        break;
      case 3:
        if (attribute.getIntsCount() > 0) {
          List<Long> shorter = attribute.getIntsList().subList(1, attribute.getIntsCount());
          attribute.clearInts().addAllInts(List.copyOf(shorter));
        }
        break;
      default:
        attribute.setI(number(random)).setF(random.nextBoolean() ? Float.NaN : number(random));
        if (attribute.getIntsCount() > 0) {
          attribute.setInts(random.nextInt(attribute.getIntsCount()), number(random));
        }
        break;
    }
  }

  private static void changeTensor(TensorProto.Builder tensor, Random random) {
    switch (random.nextInt(4)) {
      case 0:
        tensor.setDataType(random.nextInt(20));
        break;
      case 1:
        tensor.addDims(random.nextInt(3) == 0 ? number(random) : 1);
        break;
      case 2:
        if (tensor.getDimsCount() > 0) {
          tensor.setDims(random.nextInt(tensor.getDimsCount()), number(random));
        }
        break;
      default: // other contents of the same size: small numbers, then wild ones
        byte[] raw = tensor.getRawData().toByteArray();
        for (int i = 0; i < raw.length; i += 8) {
          long value = number(random);
          for (int b = 0; b < 8 && i + b < raw.length; b++) {
            raw[i + b] = (byte) (value >> (8 * b));
          }
        }
        tensor.setRawData(ByteString.copyFrom(raw));
        break;
    }
  }

  private static long number(Random random) {
    return random.nextInt(3) == 0 ? random.nextInt(9) - 2 : NUMBERS[random.nextInt(NUMBERS.length)];
  }

  private interface Mutation {
    byte[] of(ModelProto model, Random random);
  }

  private static Stream<DynamicTest> overModels(int rounds, Mutation mutation) {
    return Stream.of(RealModels.values())
        .map(real -> DynamicTest.dynamicTest(real.name(), () -> run(real, rounds, mutation)));
  }

  private static void run(RealModels real, int rounds, Mutation mutation) {
    ModelProto bare = BARE.computeIfAbsent(real, MutatedModelTest::bare);
    byte[] sound = bare.toByteArray();
    OnnxModel soundModel = OnnxModel.parse(sound, "bare", LIMITS);
    assertThat(soundModel.graph(real.dimensions(0)).nodes()).isNotEmpty();
    Seeds.forEach(
        rounds,
        (random, seed) -> {
          byte[] bytes = mutation.of(bare, random);
          importOrRefuse(
              bytes,
              model -> model.inputs().equals(soundModel.inputs()) ? real.dimensions(0) : Map.of());
        });
  }

  private static void importOrRefuse(
      byte[] bytes, Function<OnnxModel, Map<String, Integer>> dimensions) {
    try {
      OnnxModel model = OnnxModel.parse(bytes, "mutant", LIMITS);
      model.graph(dimensions.apply(model));
    } catch (InvalidModelException e) {
      assertThat(e.getMessage()).startsWith("mutant: ").doesNotContain("\n");
      assertThat(e.getMessage()).hasSizeLessThan(10_000);
      for (Throwable at = e; at != null; at = at.getCause()) { // the last net caught nothing
        assertThat(at).isInstanceOfAny(NimbleException.class, IOException.class);
      }
    }
  }

  /** The model with tensors of more than 1 KiB as inputs instead. */
  private static ModelProto bare(RealModels real) {
    ModelProto model;
    try {
      model = ModelProto.parseFrom(real.bytes());
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalStateException(e);
    }
    GraphProto.Builder graph = model.getGraph().toBuilder().clearInitializer().clearNode();
    Set<String> inputs = new HashSet<>();
    graph.getInputList().forEach(i -> inputs.add(i.getName()));
    for (TensorProto tensor : model.getGraph().getInitializerList()) {
      if (tensor.getRawData().size() <= 1024) {
        graph.addInitializer(tensor);
      } else if (inputs.add(tensor.getName())) {
        declare(graph, tensor.getName(), tensor);
      }
    }
    for (NodeProto node : model.getGraph().getNodeList()) {
      TensorProto tensor =
          node.getOpType().equals("Constant") && node.getAttributeCount() == 1
              ? node.getAttribute(0).getT()
              : TensorProto.getDefaultInstance();
      if (tensor.getRawData().size() + 4 * tensor.getFloatDataCount() <= 1024) {
        graph.addNode(node);
      } else {
        declare(graph, node.getOutput(0), tensor);
      }
    }
    return model.toBuilder().setGraph(graph).build();
  }

  private static void declare(GraphProto.Builder graph, String name, TensorProto tensor) {
    var input = graph.addInputBuilder().setName(name);
    var type = input.getTypeBuilder().getTensorTypeBuilder().setElemType(tensor.getDataType());
    tensor.getDimsList().forEach(d -> type.getShapeBuilder().addDimBuilder().setDimValue(d));
    type.getShapeBuilder();
  }
}
