package dev.nimble.onnx;

import ai.onnx.proto.OnnxMl.TensorProto;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.nimble.error.InvalidModelException;
import dev.nimble.error.Location;
import dev.nimble.graph.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A file that holds one tensor in ONNX's form ({@code TensorProto}), as test data do. */
public final class TensorFile {
  private TensorFile() {}

  /**
   * Reads the tensor.
   *
   * @throws InvalidModelException if the file cannot be read, or holds no tensor of a type that is
   *     supported
   */
  public static Tensor load(Path path) {
    String name = String.valueOf(path.getFileName());
    ImportLimits limits = ImportLimits.defaults();
    try {
      if (Files.size(path) > limits.fileBytes()) {
        throw new InvalidModelException("exceeds the limit of " + limits.fileBytes() + " bytes");
      }
      CodedInputStream input = CodedInputStream.newInstance(Files.readAllBytes(path));
      input.setRecursionLimit(limits.nestingDepth());
      return TensorReader.read(TensorProto.parseFrom(input), limits, ExternalData.none());
    } catch (InvalidProtocolBufferException e) {
      throw new InvalidModelException(
          "is not a tensor or is damaged: " + e.getMessage(), Location.ofFile(name), e);
    } catch (IOException e) {
      throw new InvalidModelException("cannot be read: " + e, Location.ofFile(name), e);
    } catch (InvalidModelException e) {
      throw e.in(name);
    }
  }
}
