package dev.nimble.onnx;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.OperatorSetIdProto;
import ai.onnx.proto.OnnxMl.SparseTensorProto;
import ai.onnx.proto.OnnxMl.StringStringEntryProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.TypeProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import com.google.protobuf.ByteString;
import dev.nimble.error.InvalidModelException;
import dev.nimble.error.NimbleException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.testkit.RealModels;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/**
 * Everything that can be wrong with a file is said in one line that names the file and the node.
 */
class MalformedModelTest {
  private static final TensorType X = TensorType.f32(2, 3);

  private final List<DynamicTest> tests = new ArrayList<>();

  private void rejected(String what, ModelMaker model, String... fragments) {
    rejected(what, model.bytes(), fragments);
  }

  private void rejected(String what, byte[] bytes, String... fragments) {
    tests.add(
        DynamicTest.dynamicTest(
            what,
            () ->
                check(
                    catchThrowable(() -> OnnxModel.parse(bytes, "made.onnx").graph(Map.of())),
                    fragments)));
  }

  private void rejected(String what, ModelMaker model, ImportLimits limits, String... fragments) {
    byte[] bytes = model.bytes();
    tests.add(
        DynamicTest.dynamicTest(
            what,
            () ->
                check(
                    catchThrowable(
                        () -> OnnxModel.parse(bytes, "made.onnx", limits).graph(Map.of())),
                    fragments)));
  }

  private static void check(Throwable thrown, String... fragments) {
    assertThat(thrown).isInstanceOf(InvalidModelException.class);
    assertThat(thrown.getMessage()).startsWith("made.onnx: ").doesNotContain("\n");
    assertThat(thrown.getMessage()).hasSizeLessThan(600);
    for (String fragment : fragments) {
      assertThat(thrown.getMessage()).contains(fragment);
    }
    for (Throwable at = thrown; at != null; at = at.getCause()) { // the last net caught nothing
      assertThat(at).isInstanceOfAny(NimbleException.class, IOException.class);
    }
  }

  private static ModelMaker model() {
    return new ModelMaker(13).input("x", X);
  }

  @TestFactory
  Stream<DynamicTest> files() {
    byte[] real = RealModels.PPOCR_CLS.bytes();
    rejected("empty", new byte[0], "is empty");
    rejected("text", "Once upon a time".getBytes(StandardCharsets.UTF_8), "not an ONNX model");
    rejected("zeros", new byte[100], "not an ONNX model");
    for (int length : new int[] {1, 10, 100, 1000, real.length / 2, real.length - 1}) {
      rejected(
          "the first " + length + " bytes of a real model",
          Arrays.copyOf(real, length),
          "not an ONNX model");
    }
    rejected(
        "no graph",
        ModelProto.newBuilder()
            .addOpsetImport(OperatorSetIdProto.newBuilder().setVersion(13))
            .build()
            .toByteArray(),
        "no graph");
    rejected(
        "no operator set",
        ModelProto.newBuilder().setGraph(GraphProto.newBuilder()).build().toByteArray(),
        "no operator set");
    rejected("opset too old", new ModelMaker(0), "opset 0", "1 to");
    rejected("opset too new", new ModelMaker(99), "opset 99");
    AttributeProto nested = AttributeProto.getDefaultInstance();
    for (int depth = 0; depth < 60; depth++) {
      nested =
          AttributeProto.newBuilder()
              .setG(GraphProto.newBuilder().addNode(NodeProto.newBuilder().addAttribute(nested)))
              .build();
    }
    rejected(
        "nested too deeply",
        new ModelMaker(13)
            .node(NodeProto.newBuilder().setOpType("If").addAttribute(nested).build()),
        "nest");
    return tests.stream();
  }

  @Test
  void filesThatCannotBeRead(@TempDir Path folder) throws IOException {
    assertThatThrownBy(() -> OnnxModel.load(folder.resolve("none.onnx")))
        .isInstanceOf(InvalidModelException.class)
        .hasMessageContaining("none.onnx: there is no such file");
    assertThatThrownBy(() -> OnnxModel.load(folder))
        .isInstanceOf(InvalidModelException.class)
        .hasMessageContaining("is a folder");
    Path file = Files.write(folder.resolve("big.onnx"), new byte[1000]);
    assertThatThrownBy(() -> OnnxModel.load(file, ImportLimits.defaults().withFileBytes(999)))
        .isInstanceOf(InvalidModelException.class)
        .hasMessage("big.onnx: exceeds the limit of 999 bytes");
    assertThatThrownBy(() -> OnnxModel.read(new BrokenStream(), "pipe"))
        .isInstanceOf(InvalidModelException.class)
        .hasMessageContaining("pipe: cannot be read")
        .hasMessageContaining("line dropped");
    Path good =
        Files.write(
            folder.resolve("good.onnx"), model().node("Relu", "x", "y").output("y").bytes());
    assertThat(OnnxModel.load(good).file()).isEqualTo("good.onnx");
    byte[] bytes = Files.readAllBytes(good);
    assertThat(OnnxModel.read(new ByteArrayInputStream(bytes), "s").nodeCount()).isEqualTo(1);
  }

  private static final class BrokenStream extends InputStream {
    @Override
    public int read() throws IOException {
      throw new IOException("line dropped");
    }
  }

  @TestFactory
  Stream<DynamicTest> graphs() {
    rejected(
        "a cycle of two",
        model().node("Relu", "x", "a").node("Add", "a,c", "b").node("Neg", "b", "c").output("c"),
        "node 'n",
        "cycle");
    rejected(
        "a node behind a cycle is not blamed",
        model().node("Relu", "c", "a").node("Add", "x,c", "b").node("Neg", "b", "c").output("a"),
        "cycle",
        "node 'n");
    rejected(
        "a node that reads its own result",
        model().node("Add", "x,y", "y").output("y"),
        "node 'n0' (Add)",
        "cycle");
    rejected(
        "one result twice",
        model().node("Relu", "x", "y").node("Neg", "x", "y").output("y"),
        "node 'n1' (Neg)",
        "two values are named 'y'");
    rejected(
        "a result named as the input",
        model().node("Relu", "x", "x").output("x"),
        "node 'n0' (Relu)",
        "two values are named 'x'");
    rejected(
        "a result named as an initializer",
        model().initializer("w", Tensor.zeros(X)).node("Relu", "x", "w").output("w"),
        "two values are named 'w'");
    rejected(
        "two inputs of one name", model().input("x", X).output("x"), "two values are named 'x'");
    rejected(
        "two initializers of one name",
        model().initializer("w", Tensor.zeros(X)).initializer("w", Tensor.zeros(X)).output("x"),
        "two values are named 'w'");
    rejected(
        "one node with one output twice",
        model().node("Split", "x", "y,y", "axis", 0).output("y"),
        "two values are named 'y'");
    rejected(
        "an operand that is not there",
        model().node("Add", "x,ghost", "y").output("y"),
        "node 'n0' (Add)",
        "'ghost'");
    rejected(
        "an output that is not there",
        model().node("Relu", "x", "y").output("ghost"),
        "output 'ghost'");
    rejected("one output twice", model().output("x").output("x"), "two outputs are named 'x'");
    rejected(
        "an unknown operator, and others",
        model()
            .node("Frobnicate", "x", "a")
            .node("RandomUniform", "x", "b")
            .node("Relu", "x", "y")
            .node("Frobnicate", "x", "c")
            .output("y"),
        "node 'n0' (Frobnicate)",
        "Frobnicate (2 nodes), RandomUniform (1 node)");
    rejected(
        "a foreign domain",
        model()
            .node(
                NodeProto.newBuilder()
                    .setOpType("Relu")
                    .setDomain("com.example")
                    .addInput("x")
                    .addOutput("y")
                    .build())
            .output("y"),
        "node 'Relu#0' (com.example.Relu)",
        "com.example.Relu (1 node)");
    rejected("no operator", model().node("", "x", "y").output("y"), "not supported");
    rejected(
        "an output that is not computed here",
        model().node("Softmax", "x", "y,mask").output("y").output("mask"),
        "output 1 ('mask')",
        "n0 (Softmax)");
    rejected(
        "a sparse initializer",
        ModelProto.newBuilder(model().output("x").proto())
            .setGraph(
                GraphProto.newBuilder(model().output("x").proto().getGraph())
                    .addSparseInitializer(SparseTensorProto.getDefaultInstance()))
            .build()
            .toByteArray(),
        "sparse");
    rejected(
        "an input that is no tensor",
        withInput(
            ValueInfoProto.newBuilder()
                .setName("s")
                .setType(
                    TypeProto.newBuilder()
                        .setSequenceType(TypeProto.Sequence.getDefaultInstance()))),
        "input 's'",
        "SEQUENCE");
    rejected(
        "an input without a type",
        withInput(ValueInfoProto.newBuilder().setName("s")),
        "input 's'");
    rejected(
        "an input without a shape",
        withInput(
            ValueInfoProto.newBuilder()
                .setName("s")
                .setType(
                    TypeProto.newBuilder()
                        .setTensorType(TypeProto.Tensor.newBuilder().setElemType(1)))),
        "input 's' has no shape");
    rejected(
        "an input of strings",
        withInput(
            ValueInfoProto.newBuilder()
                .setName("s")
                .setType(
                    TypeProto.newBuilder()
                        .setTensorType(TypeProto.Tensor.newBuilder().setElemType(8)))),
        "input 's'");
    return tests.stream();
  }

  private static byte[] withInput(ValueInfoProto.Builder input) {
    ModelProto made = model().output("x").proto();
    return made.toBuilder()
        .setGraph(made.getGraph().toBuilder().addInput(input))
        .build()
        .toByteArray();
  }

  @Test
  void outputsThatNobodyReadsNeedNoValue() {
    Graph graph = model().node("Softmax", "x", "y,mask").output("y").model().graph(Map.of());
    assertThat(graph.nodes()).hasSize(1);
  }

  private static GraphProto body(ModelMaker maker) {
    return maker.proto().getGraph();
  }

  @TestFactory
  Stream<DynamicTest> bodies() {
    Tensor yes = Tensor.zeros(TensorType.of(DataType.BOOL));
    yes.setLong(0, 1);
    GraphProto same = body(new ModelMaker(13).node("Identity", "x", "t").output("t"));
    GraphProto missing = body(new ModelMaker(13).node("Frobnicate", "x", "t").output("t"));
    rejected(
        "a branch that depends on data",
        model()
            .input("c", TensorType.of(DataType.BOOL))
            .node("If", "c", "y", "then_branch", same, "else_branch", same)
            .output("y"),
        "node 'n0' (If of bool[])",
        "the condition",
        "depends on the input c");
    rejected(
        "a branch without a body",
        model().initializer("c", yes).node("If", "c", "y", "then_branch", same).output("y"),
        "else_branch must be given");
    rejected(
        "an unknown operator in the branch that is taken",
        model()
            .initializer("c", yes)
            .node("If", "c", "y", "then_branch", missing, "else_branch", same)
            .output("y"),
        "Frobnicate",
        "not supported");
    rejected(
        "a body that reads what nobody defines",
        model()
            .initializer("c", yes)
            .node(
                "If",
                "c",
                "y",
                "then_branch",
                body(new ModelMaker(13).node("Neg", "ghost", "t").output("t")),
                "else_branch",
                same)
            .output("y"),
        "'ghost'");
    GraphProto turn =
        body(
            new ModelMaker(13)
                .input("i", TensorType.of(DataType.I64))
                .input("go", TensorType.of(DataType.BOOL))
                .output("go"));
    rejected(
        "a loop without end, of which no turn adds a node",
        model().node("Loop", "", "", "body", turn).output("x"),
        ImportLimits.defaults().withNodes(1000),
        "more than the limit of 1000 nodes");
    GraphProto fewer = body(new ModelMaker(13).input("i", TensorType.of(DataType.I64)));
    rejected(
        "a body that takes other inputs",
        model().initializer("c", yes).node("Loop", ",c", "", "body", fewer).output("x"),
        "too few outputs");
    Tensor constant = Tensor.zeros(TensorType.f32(1 << 20));
    GraphProto large =
        body(
            new ModelMaker(13)
                .input("i", TensorType.of(DataType.I64))
                .input("go", TensorType.of(DataType.BOOL))
                .node("Constant", "", "k", "value", constant)
                .output("go"));
    rejected(
        "a loop that holds a large constant at every turn",
        model().node("Loop", "", "", "body", large).output("x"),
        ImportLimits.defaults().withComputedBytes(20L << 20),
        "exceeds the limit of");
    rejected(
        "a scan of nothing",
        model().node("Scan", "x", "y", "body", same, "num_scan_inputs", 0).output("y"),
        "num_scan_inputs");
    rejected(
        "a sequence as an output",
        model().node("SequenceConstruct", "x,x", "s").output("s"),
        "output 's' is a sequence");
    rejected(
        "a sequence as an operand of another operator",
        model().node("SequenceConstruct", "x,x", "s").node("Neg", "s", "y").output("y"),
        "operand 's' is a sequence");
    rejected(
        "a position outside a sequence",
        model()
            .initializer("p", Tensor.ofLongs(Shape.scalar(), 2))
            .node("SequenceConstruct", "x,x", "s")
            .node("SequenceAt", "s,p", "y")
            .output("y"),
        "position 2 is outside a sequence of 2");
    return tests.stream();
  }

  /** A model whose only tensor is read from {@code location}. */
  private static byte[] external(String... entries) {
    TensorProto.Builder tensor = tensor(1, 4).setDataLocation(TensorProto.DataLocation.EXTERNAL);
    for (int i = 0; i < entries.length; i += 2) {
      tensor.addExternalData(
          StringStringEntryProto.newBuilder().setKey(entries[i]).setValue(entries[i + 1]));
    }
    return with(tensor).bytes();
  }

  @TestFactory
  Stream<DynamicTest> externalData(@TempDir Path folder) throws IOException {
    Path inside = Files.createDirectories(folder.resolve("model/parts"));
    Path model = folder.resolve("model/made.onnx");
    Files.write(folder.resolve("secret.bin"), new byte[64]);
    Files.write(inside.resolve("w.bin"), new byte[64]);
    Files.createSymbolicLink(folder.resolve("model/link.bin"), folder.resolve("secret.bin"));
    Files.createSymbolicLink(folder.resolve("model/out"), folder);
    Map<String, String[]> wrong = new java.util.LinkedHashMap<>();
    wrong.put("leaves the model's folder", new String[] {"location", "../secret.bin"});
    wrong.put("leaves", new String[] {"location", "parts/../../secret.bin"});
    wrong.put("relative", new String[] {"location", folder.resolve("secret.bin").toString()});
    wrong.put("location relative", new String[] {"offset", "0"});
    wrong.put("symbolic link", new String[] {"location", "link.bin"});
    wrong.put("passes a symbolic link", new String[] {"location", "out/secret.bin"});
    wrong.put("is not a file", new String[] {"location", "parts"});
    wrong.put("which is not a file", new String[] {"location", "none.bin"});
    wrong.put("no path", new String[] {"location", "a\0b"});
    wrong.put("which has 64", new String[] {"location", "parts/w.bin", "offset", "49"});
    wrong.put(
        "bytes 9223372036854775807",
        new String[] {"location", "parts/w.bin", "offset", "9223372036854775807"});
    wrong.put("offset '-1'", new String[] {"location", "parts/w.bin", "offset", "-1"});
    wrong.put("17 bytes", new String[] {"location", "parts/w.bin", "length", "17"});
    wrong.put("length 'many'", new String[] {"location", "parts/w.bin", "length", "many"});
    wrong.forEach(
        (fragment, entries) ->
            tests.add(
                DynamicTest.dynamicTest(
                    fragment,
                    () -> {
                      Files.write(model, external(entries));
                      Throwable thrown =
                          catchThrowable(() -> OnnxModel.load(model).graph(Map.of()));
                      check(thrown, "tensor 'w'", fragment);
                    })));
    return tests.stream();
  }

  @Test
  void externalDataAreReadFromBesideTheModel(@TempDir Path folder) throws IOException {
    Files.createDirectories(folder.resolve("parts"));
    Tensor weights = Tensor.of(Shape.of(6), 1, 2, 3, 4, 5, 6);
    byte[] bytes = new byte[24];
    weights.bytes().duplicate().get(bytes);
    Files.write(folder.resolve("parts/w.bin"), bytes);
    Path model =
        Files.write(
            folder.resolve("m.onnx"),
            external("location", "parts/w.bin", "offset", "8", "length", "16"));
    Tensor read = OnnxModel.load(model).graph(Map.of()).outputs().get(0).contents();
    assertThat(read).isNotNull();
    assertThat(read.toFloatArray()).containsExactly(3, 4, 5, 6);
  }

  @TestFactory
  Stream<DynamicTest> attributes() {
    rejected(
        "of another type",
        model().node("Softmax", "x", "y", "axis", 1.5f).output("y"),
        "node 'n0' (Softmax of f32[2,3])",
        "'axis' must be INT, not FLOAT");
    rejected(
        "unknown",
        model().node("Relu", "x", "y", "leak", 1.5f).output("y"),
        "(Relu of f32[2,3])",
        "attribute 'leak' is not supported");
    rejected(
        "twice",
        model().node("Softmax", "x", "y", "axis", 0, "axis", 1).output("y"),
        "node 'n0'",
        "'axis' occurs twice");
    rejected("missing", model().node("Concat", "x,x", "y").output("y"), "node 'n0'", "axis");
    rejected(
        "out of range",
        model().node("Softmax", "x", "y", "axis", 2).output("y"),
        "axis 2 is outside rank 2");
    rejected(
        "far out of range",
        model().node("Softmax", "x", "y", "axis", Long.MIN_VALUE).output("y"),
        "outside rank 2");
    rejected(
        "beyond an int",
        model()
            .node("Gemm", "x,x", "y", "transA", 1L << 40)
            .node("Conv", "y,y", "z", "group", 1L << 40)
            .output("z"),
        "node 'n1'");
    rejected(
        "a mode that does not exist",
        model().node("Gelu", "x", "y", "approximate", "well").output("y"),
        "'well'");
    rejected(
        "a value that is not supported",
        new ModelMaker(13)
            .input("x", TensorType.f32(1, 1, 4, 4))
            .node("LpPool", "x", "y", "kernel_shape", new long[] {2, 2}, "ceil_mode", 1)
            .output("y"),
        "'ceil_mode' = 1");
    rejected(
        "a list of the wrong length",
        new ModelMaker(13)
            .input("x", TensorType.f32(1, 1, 4, 4))
            .node("MaxPool", "x", "y", "kernel_shape", new long[] {2, 2}, "strides", new long[] {1})
            .output("y"),
        "strides needs 2 entries, not 1");
    rejected(
        "a cast to a type that is not supported",
        model().node("Cast", "x", "y", "to", 8).output("y"),
        "STRING");
    rejected("a cast to no type", model().node("Cast", "x", "y").output("y"), "node 'n0' (Cast");
    rejected("a constant without a value", model().node("Constant", "", "c").output("c"), "value");
    rejected(
        "a constant of strings",
        model().node("Constant", "", "c", "value_string", "text").output("c"),
        "node 'n0'");
    rejected(
        "axes both ways",
        model()
            .initializer("a", Tensor.ofLongs(Shape.of(1), 0))
            .node("ReduceSum", "x,a", "y", "axes", new long[] {1})
            .output("y"),
        "as an attribute and as an operand");
    rejected(
        "more parts than outputs",
        new ModelMaker(18)
            .input("x", X)
            .node("Split", "x", "a,b", "num_outputs", Integer.MAX_VALUE)
            .output("a"),
        "2 outputs");
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> operandCounts() {
    List<String> one =
        List.of(
            "Relu",
            "Softmax",
            "Transpose",
            "Shape",
            "Flatten",
            "Cast",
            "Identity",
            "GlobalAveragePool",
            "Not",
            "Size",
            "DepthToSpace",
            "MaxPool");
    List<String> two =
        List.of(
            "Add", "MatMul", "Gather", "Equal", "And", "Reshape", "Expand", "Pow", "Tile", "PRelu");
    List<String> three = List.of("Where", "Range", "BatchNormalization", "InstanceNormalization");
    Map<Integer, List<String>> byCount = Map.of(1, one, 2, two, 3, three);
    byCount.forEach(
        (count, operators) -> {
          for (String operator : operators) {
            rejected(
                operator + " of none",
                model().node(operator, "", "y").output("y"),
                "node 'n0' (" + operator + ")");
            rejected(
                operator + " of seven",
                model().node(operator, "x,x,x,x,x,x,x", "y").output("y"),
                "node 'n0' (" + operator + " of f32[2,3], ");
            if (count > 1) {
              rejected(
                  operator + " of one",
                  model().node(operator, "x", "y").output("y"),
                  "node 'n0' (" + operator + " of f32[2,3])");
              rejected(
                  operator + " with a gap",
                  model().node(operator, ",x,x", "y").output("y"),
                  "node 'n0' (" + operator + " of -, f32[2,3], f32[2,3])");
            }
          }
        });
    for (String operator :
        List.of(
            "Conv",
            "ConvTranspose",
            "Gemm",
            "Sum",
            "Mean",
            "Max",
            "Concat",
            "Split",
            "Slice",
            "Pad",
            "Resize",
            "Clip",
            "Dropout",
            "ReduceSum",
            "Squeeze",
            "Unsqueeze",
            "ConstantOfShape",
            "LayerNormalization")) {
      rejected(
          operator + " of none",
          model().node(operator, "", "y", "axis", 0).output("y"),
          "node 'n0' (" + operator + ")");
    }
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> operandTypes() {
    rejected(
        "element types differ",
        model().input("i", TensorType.of(DataType.I64, 3)).node("Add", "x,i", "y").output("y"),
        "node 'n0' (Add of f32[2,3], i64[3])");
    rejected(
        "shapes do not broadcast",
        model().input("z", TensorType.f32(4)).node("Mul", "x,z", "y").output("y"),
        "node 'n0' (Mul of f32[2,3], f32[4])",
        "do not broadcast");
    rejected(
        "inner extents differ",
        model().node("MatMul", "x,x", "y").output("y"),
        "(MatMul of f32[2,3], f32[2,3])");
    rejected("too few axes", model().node("Conv", "x,x", "y").output("y"), "(Conv of ", "rank");
    rejected(
        "a shape that depends on data",
        model().input("s", TensorType.of(DataType.I64, 2)).node("Reshape", "x,s", "y").output("y"),
        "node 'n0' (Reshape of ",
        "operand 's'",
        "depends on the input s");
    rejected(
        "a shape computed from data",
        model()
            .input("s", TensorType.of(DataType.I64, 2))
            .node("Add", "s,s", "t")
            .node("Expand", "x,t", "y")
            .output("y"),
        "node 'n1' (Expand of ",
        "operand 't'",
        "depends on the input s");
    rejected(
        "a shape that is not of integers",
        model()
            .initializer("s", Tensor.of(Shape.of(2), 3, 2))
            .node("Reshape", "x,s", "y")
            .output("y"),
        "must be integers");
    rejected(
        "a shape that does not fit",
        model()
            .initializer("s", Tensor.ofLongs(Shape.of(2), 4, -1))
            .node("Reshape", "x,s", "y")
            .output("y"),
        "node 'n0' (Reshape of f32[2,3], i64[2])",
        "[4, -1]");
    rejected(
        "a shape with -1 twice",
        model()
            .initializer("s", Tensor.ofLongs(Shape.of(2), -1, -1))
            .node("Reshape", "x,s", "y")
            .output("y"),
        "-1 twice");
    rejected(
        "a shape with -2",
        model()
            .initializer("s", Tensor.ofLongs(Shape.of(2), -2, -3))
            .node("Reshape", "x,s", "y")
            .output("y"),
        "node 'n0'");
    rejected(
        "squeezing a long axis",
        model()
            .node("Squeeze", "x,a", "y")
            .initializer("a", Tensor.ofLongs(Shape.of(1), 1))
            .output("y"),
        "extent 3, not 1");
    rejected(
        "a step of 0",
        model()
            .initializer("z", Tensor.ofLongs(Shape.of(1), 0))
            .node("Slice", "x,z,z,z,z", "y")
            .output("y"),
        "step is 0");
    rejected(
        "a range without end",
        model()
            .initializer("z", Tensor.of(Shape.scalar(), 0f))
            .initializer("o", Tensor.of(Shape.scalar(), 1f))
            .node("Range", "z,o,z", "y")
            .output("y"),
        "node 'n0'");
    rejected(
        "an index outside a constant that a shape needs",
        model()
            .initializer("i", Tensor.ofLongs(Shape.of(1), 9))
            .node("Shape", "x", "s")
            .node("Gather", "s,i", "e")
            .node("Expand", "x,e", "y")
            .output("y"),
        "node 'n1' (Gather",
        "index 9");
    return tests.stream();
  }

  private static TensorProto.Builder tensor(int type, long... dims) {
    TensorProto.Builder tensor = TensorProto.newBuilder().setName("w").setDataType(type);
    Arrays.stream(dims).forEach(tensor::addDims);
    return tensor;
  }

  private static ModelMaker with(TensorProto.Builder tensor) {
    return model().initializer(tensor.build()).output("w");
  }

  @TestFactory
  Stream<DynamicTest> tensors() {
    rejected(
        "too few raw bytes",
        with(tensor(1, 2, 3).setRawData(ByteString.copyFrom(new byte[23]))),
        "tensor 'w' of f32[2,3] has 23 bytes of data, not 24");
    rejected(
        "too many floats",
        with(tensor(1, 2).addFloatData(1).addFloatData(2).addFloatData(3)),
        "has 3 elements of data, not 2");
    rejected(
        "data of another type",
        with(tensor(1, 2).addInt64Data(1).addInt64Data(2)),
        "has 0 elements of data, not 2");
    rejected("a negative extent", with(tensor(1, -1)), "tensor 'w'", "-1");
    rejected("a product beyond an int", with(tensor(1, 1 << 20, 1 << 20)), "tensor 'w'", "2^31");
    rejected("an extent beyond an int", with(tensor(1, 1L << 40)), "tensor 'w'");
    rejected("2^31 - 1 floats", with(tensor(1, Integer.MAX_VALUE)), "tensor 'w'", "limit");
    long[] many = new long[40];
    Arrays.fill(many, 1);
    rejected("40 axes", with(tensor(1, many).addFloatData(1)), "tensor 'w' has 40 axes");
    rejected(
        "strings",
        with(tensor(8, 1).addStringData(ByteString.copyFromUtf8("text"))),
        "tensor 'w' has element type STRING");
    rejected("a type that does not exist", with(tensor(777, 1)), "number 777");
    rejected(
        "data in another file",
        with(
            tensor(1, 1)
                .setDataLocation(TensorProto.DataLocation.EXTERNAL)
                .addExternalData(
                    StringStringEntryProto.newBuilder().setKey("location").setValue("w.bin"))),
        "tensor 'w' keeps its data in another file, but the model was not read from a folder");
    rejected(
        "a segment",
        with(tensor(1, 1).setSegment(TensorProto.Segment.newBuilder().setBegin(0))),
        "tensor 'w'",
        "segments");
    rejected(
        "no name",
        model().initializer(tensor(1, 1).setName("").addFloatData(1).build()).output("x"),
        "an initializer has no name");
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> typedDataOfEveryElementType() {
    Map<Integer, TensorProto.Builder> byType =
        Map.of(
            1, tensor(1, 2).addFloatData(1.5f).addFloatData(2),
            2, tensor(2, 2).addInt32Data(200).addInt32Data(1),
            3, tensor(3, 2).addInt32Data(-5).addInt32Data(1),
            6, tensor(6, 2).addInt32Data(-70000).addInt32Data(1),
            7, tensor(7, 2).addInt64Data(1L << 40).addInt64Data(1),
            9, tensor(9, 2).addInt32Data(1).addInt32Data(0),
            10, tensor(10, 2).addInt32Data(0x3e00).addInt32Data(0xc000),
            11, tensor(11, 2).addDoubleData(0.1).addDoubleData(2));
    Map<Integer, double[]> expected =
        Map.of(
            1,
            new double[] {1.5, 2},
            2,
            new double[] {200, 1},
            3,
            new double[] {-5, 1},
            6,
            new double[] {-70000, 1},
            7,
            new double[] {1L << 40, 1},
            9,
            new double[] {1, 0},
            10,
            new double[] {1.5, -2},
            11,
            new double[] {0.1, 2});
    byType.forEach(
        (type, tensor) ->
            tests.add(
                DynamicTest.dynamicTest(
                    "type " + type,
                    () -> {
                      Tensor contents =
                          with(tensor).model().graph(Map.of()).outputs().get(0).contents();
                      assertThat(new double[] {contents.getDouble(0), contents.getDouble(1)})
                          .isEqualTo(expected.get(type));
                    })));
    return tests.stream();
  }

  @Test
  void limitsHold() {
    ImportLimits limits = ImportLimits.defaults();
    byte[] two = model().node("Relu", "x", "a").node("Relu", "a", "y").output("y").bytes();
    check(
        catchThrowable(() -> OnnxModel.parse(two, "made.onnx", limits.withNodes(1))),
        "has 2 nodes; the limit is 1");
    check(
        catchThrowable(() -> OnnxModel.parse(two, "made.onnx", limits.withFileBytes(10))),
        "exceeds the limit of 10 bytes");
    check(
        catchThrowable(
            () -> OnnxModel.parse(two, "made.onnx", limits.withTensorBytes(8)).graph(Map.of())),
        "'x'",
        "f32[2,3] exceeds the limit of 8 bytes");
    byte[] grown =
        model()
            .initializer("r", Tensor.ofLongs(Shape.of(2), 100, 100))
            .node("Tile", "x,r", "y")
            .output("y")
            .bytes();
    check(
        catchThrowable(
            () ->
                OnnxModel.parse(grown, "made.onnx", limits.withTensorBytes(1000)).graph(Map.of())),
        "node 'n0' (Tile",
        "'y'",
        "f32[200,300] exceeds");
    byte[] filled =
        model()
            .initializer("s", Tensor.ofLongs(Shape.of(2), 1000, 1000))
            .node("ConstantOfShape", "s", "y")
            .node("ConstantOfShape", "s", "z")
            .output("y")
            .bytes();
    check(
        catchThrowable(
            () ->
                OnnxModel.parse(filled, "made.onnx", limits.withComputedBytes(1_000_000))
                    .graph(Map.of())),
        "node 'n0' (ConstantOfShape",
        "f32[1000,1000]",
        "1000000 bytes");
    check(
        catchThrowable(
            () ->
                OnnxModel.parse(filled, "made.onnx", limits.withComputedBytes(5_000_000))
                    .graph(Map.of())),
        "node 'n1'");
    check(
        catchThrowable(() -> model().node("Relu", "x", "n".repeat(5000)).output("x").model()),
        "5000 characters");
  }
}
