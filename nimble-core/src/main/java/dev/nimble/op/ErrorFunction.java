package dev.nimble.op;

/** The error function in double precision. */
final class ErrorFunction {
  private static final double TWO_OVER_SQRT_PI = 2 / Math.sqrt(Math.PI);

  private ErrorFunction() {}

  /**
   * erf(x): below 3 by the series of Abramowitz and Stegun 7.1.6, above by the continued fraction
   * 7.1.14.
   */
  static double erf(double x) {
    double magnitude = Math.abs(x);
    if (Double.isNaN(x)) {
      return x;
    }
    if (magnitude > 6) {
      return Math.signum(x);
    }
    return magnitude < 3 ? series(x) : Math.copySign(1 - complement(magnitude), x);
  }

  private static double series(double x) {
    double term = x;
    double sum = x;
    for (int n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
      term *= 2 * x * x / (2 * n + 1);
      sum += term;
    }
    return TWO_OVER_SQRT_PI * Math.exp(-x * x) * sum;
  }

  private static double complement(double x) {
    double fraction = x;
    for (int k = 60; k > 0; k--) {
      fraction = x + k / 2.0 / fraction;
    }
    return Math.exp(-x * x) / (Math.sqrt(Math.PI) * fraction);
  }
}
