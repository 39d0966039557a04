package dev.nimble.error;

import org.jspecify.annotations.Nullable;

/**
 * Where an error was found. Every part is optional; what is known is printed.
 *
 * @param file the model or plan file
 * @param node the node's name
 * @param operator the operator's name, as in ONNX
 * @param shapes the operand types, for example {@code f32[1,3,224,224], f32[64,3,7,7]}
 */
public record Location(
    @Nullable String file,
    @Nullable String node,
    @Nullable String operator,
    @Nullable String shapes) {

  /** Nothing is known. */
  public static final Location NOWHERE = new Location(null, null, null, null);

  /** A place within a file of which no more is known. */
  public static Location ofFile(String file) {
    return new Location(file, null, null, null);
  }

  /** A node, before its operand types are known. */
  public static Location ofNode(String node, String operator) {
    return new Location(null, node, operator, null);
  }

  /** A node and its operand types. */
  public static Location ofNode(String node, String operator, String shapes) {
    return new Location(null, node, operator, shapes);
  }

  /** This place, in {@code newFile}. */
  public Location withFile(String newFile) {
    return new Location(newFile, node, operator, shapes);
  }

  /** One line without a final separator; empty when nothing is known. */
  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    if (file != null) {
      text.append(file);
    }
    if (node != null || operator != null) {
      text.append(text.length() == 0 ? "" : ": ").append("node ");
      text.append(node == null || node.isEmpty() ? "(unnamed)" : "'" + node + "'");
      if (operator != null) {
        text.append(" (").append(operator);
        text.append(shapes == null || shapes.isEmpty() ? "" : " of " + shapes).append(')');
      }
    } else if (shapes != null && !shapes.isEmpty()) {
      text.append(text.length() == 0 ? "" : ": ").append(shapes);
    }
    return text.toString();
  }
}
