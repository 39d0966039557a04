package dev.nimble.view;

import java.util.Locale;

/** Builds one SVG document; lengths in pixels. */
final class Svg {
  private final StringBuilder text = new StringBuilder();

  Svg(double width, double height) {
    add(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\""
            + " viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" font-size=\"10\">\n",
        width, height, width, height);
    add("<rect width=\"%.0f\" height=\"%.0f\" fill=\"white\"/>\n", width, height);
  }

  /** A filled box with an outline and a title that shows when hovered over. */
  void box(double x, double y, double width, double height, String fill, String title) {
    add(
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\" stroke=\"#555\""
            + " stroke-width=\"0.5\"><title>%s</title></rect>\n",
        x, y, width, height, fill, escaped(title));
  }

  /** Text that starts at {@code x}; {@code y} is the baseline. */
  void text(double x, double y, String label) {
    add("<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", x, y, escaped(label));
  }

  /** Text centred at {@code x}. */
  void centred(double x, double y, String label) {
    add("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", x, y, escaped(label));
  }

  /** A straight line. */
  void line(double x1, double y1, double x2, double y2, String colour) {
    add(
        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n",
        x1, y1, x2, y2, colour);
  }

  /** A curve that leaves and arrives vertically. */
  void curve(double x1, double y1, double x2, double y2, String colour) {
    double middle = (y1 + y2) / 2;
    add(
        "<path d=\"M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f\" fill=\"none\" stroke=\"%s\"/>\n",
        x1, y1, x1, middle, x2, middle, x2, y2, colour);
  }

  private void add(String format, Object... arguments) {
    text.append(String.format(Locale.ROOT, format, arguments));
  }

  private static String escaped(String raw) {
    return raw.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\"", "&quot;")
        .replaceAll("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f]", "?");
  }

  @Override
  public String toString() {
    return text + "</svg>\n";
  }
}
