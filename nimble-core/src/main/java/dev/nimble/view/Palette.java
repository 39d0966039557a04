package dev.nimble.view;

import java.util.Locale;

/** Colours of streams: neighbours differ clearly, and dark text is readable on each. */
final class Palette {
  private static final double GOLDEN_ANGLE_DEGREES = 137.508;

  private Palette() {}

  /** The colour of {@code stream} as {@code #rrggbb}. */
  static String ofStream(int stream) {
    double hue = (210 + stream * GOLDEN_ANGLE_DEGREES) % 360;
    double saturation = 0.55;
    double lightness = 0.74 - 0.08 * (stream / 8 % 2);
    return String.format(
        Locale.ROOT,
        "#%02x%02x%02x",
        channel(hue, saturation, lightness, 0),
        channel(hue, saturation, lightness, 8),
        channel(hue, saturation, lightness, 4));
  }

  /** One channel of an HSL colour, by the alternative formula of CSS Color 4. */
  private static int channel(double hue, double saturation, double lightness, int n) {
    double k = (n + hue / 30) % 12;
    double amplitude = saturation * Math.min(lightness, 1 - lightness);
    double value = lightness - amplitude * Math.max(-1, Math.min(Math.min(k - 3, 9 - k), 1));
    return (int) Math.round(255 * value);
  }
}
