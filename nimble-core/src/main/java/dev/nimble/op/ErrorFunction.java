package dev.nimble.op;

/** The error function in double precision. */
final class ErrorFunction {
  private static final double TWO_OVER_SQRT_PI = 2 / Math.sqrt(Math.PI);

  private ErrorFunction() {}

  /** erf(x), to a few units in the last place. */
  static double erf(double x) {
    double magnitude = Math.abs(x);
    if (Double.isNaN(x)) {
      return x;
    }
    if (magnitude > 6) {
      return Math.signum(x);
    }
    return magnitude < 3 ? series(x) : Math.copySign(1 - fraction(magnitude), x);
  }

  /** 1 - erf(x) without cancellation: to a relative error of 2e-13. */
  static double erfc(double x) {
    return x < 2 ? 1 - erf(x) : fraction(x);
  }

  /** erf by its series, Abramowitz and Stegun 7.1.6; for moderate x. */
  private static double series(double x) {
    double term = x;
    double sum = x;
    for (int n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
      term *= 2 * x * x / (2 * n + 1);
      sum += term;
    }
    return TWO_OVER_SQRT_PI * Math.exp(-x * x) * sum;
  }

  /** erfc by its continued fraction, Abramowitz and Stegun 7.1.14; for x of 2 and more. */
  private static double fraction(double x) {
    double tail = x;
    for (int k = 60; k > 0; k--) {
      tail = x + k / 2.0 / tail;
    }
    return Math.exp(-x * x) / (Math.sqrt(Math.PI) * tail);
  }
}
