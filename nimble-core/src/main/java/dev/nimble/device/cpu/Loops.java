package dev.nimble.device.cpu;

import dev.nimble.op.BinaryFunction;
import dev.nimble.op.Unary;
import dev.nimble.op.UnaryFunction;

/**
 * Elementwise functions over arrays, one loop a function, so that nothing is decided per element
 * and C2 can vectorise. Every CPU kernel computes these functions here: fused and separate results
 * are equal.
 */
final class Loops {
  private static final float LOG2_E = 1.44269504f;
  private static final float LN2_HIGH = 0.693359375f;
  private static final float LN2_LOW = -2.12194440e-4f;
  private static final double TWO_OVER_SQRT_PI = 2 / Math.sqrt(Math.PI);

  /** Coefficients of the Maclaurin series of erf(x) / x in powers of x^2. */
  private static final float[] ERF_SERIES = erfSeries();

  private Loops() {}

  private static float[] erfSeries() {
    float[] series = new float[12];
    double factorial = 1;
    for (int n = 0; n < series.length; n++) {
      factorial *= Math.max(1, n);
      series[n] = (float) ((n % 2 == 0 ? 1 : -1) * TWO_OVER_SQRT_PI / (factorial * (2 * n + 1)));
    }
    return series;
  }

  /** y[i] = f(x[i]) for the first {@code n} elements; {@code y} may be {@code x}. */
  static void unary(Unary operator, float[] x, float[] y, int n) {
    UnaryFunction function = operator.function();
    float alpha = operator.alpha();
    float beta = operator.beta();
    switch (function) {
      case RELU:
        for (int i = 0; i < n; i++) {
          y[i] = Math.max(x[i], 0f);
        }
        break;
      case CLIP:
        for (int i = 0; i < n; i++) {
          y[i] = Math.min(Math.max(x[i], alpha), beta);
        }
        break;
      case NEG:
        for (int i = 0; i < n; i++) {
          y[i] = -x[i];
        }
        break;
      case ABS:
        for (int i = 0; i < n; i++) {
          y[i] = Math.abs(x[i]);
        }
        break;
      case SQRT:
        for (int i = 0; i < n; i++) {
          y[i] = (float) Math.sqrt(x[i]);
        }
        break;
      case RECIPROCAL:
        for (int i = 0; i < n; i++) {
          y[i] = 1f / x[i];
        }
        break;
      case HARD_SIGMOID:
        for (int i = 0; i < n; i++) {
          y[i] = Math.max(0f, Math.min(1f, alpha * x[i] + beta));
        }
        break;
      case HARD_SWISH:
        for (int i = 0; i < n; i++) {
          y[i] = x[i] * Math.max(0f, Math.min(1f, x[i] * (1f / 6f) + 0.5f));
        }
        break;
      case EXP:
        for (int i = 0; i < n; i++) {
          y[i] = exp(x[i]);
        }
        break;
      case SIGMOID:
        for (int i = 0; i < n; i++) {
          y[i] = 1f / (1f + exp(-x[i]));
        }
        break;
      case ERF:
        for (int i = 0; i < n; i++) {
          y[i] = erf(x[i]);
        }
        break;
      case GELU:
        for (int i = 0; i < n; i++) {
          y[i] = 0.5f * x[i] * (1f + erf(x[i] * 0.70710678f));
        }
        break;
      default:
        for (int i = 0; i < n; i++) {
          y[i] = function.apply(x[i], alpha, beta);
        }
        break;
    }
  }

  /**
   * z[i] = f(x[i], y[i]) for the first {@code n} elements; {@code z} may be {@code x} or {@code y}.
   */
  static void binary(BinaryFunction function, float[] x, float[] y, float[] z, int n) {
    switch (function) {
      case ADD:
        for (int i = 0; i < n; i++) {
          z[i] = x[i] + y[i];
        }
        break;
      case SUB:
        for (int i = 0; i < n; i++) {
          z[i] = x[i] - y[i];
        }
        break;
      case MUL:
        for (int i = 0; i < n; i++) {
          z[i] = x[i] * y[i];
        }
        break;
      case DIV:
        for (int i = 0; i < n; i++) {
          z[i] = x[i] / y[i];
        }
        break;
      case MAX:
        for (int i = 0; i < n; i++) {
          z[i] = Math.max(x[i], y[i]);
        }
        break;
      case MIN:
        for (int i = 0; i < n; i++) {
          z[i] = Math.min(x[i], y[i]);
        }
        break;
      default:
        for (int i = 0; i < n; i++) {
          z[i] = function.apply(x[i], y[i]);
        }
        break;
    }
  }

  /** y[i] += c for the first {@code n} elements. */
  static void addScalar(float[] y, float c, int n) {
    for (int i = 0; i < n; i++) {
      y[i] += c;
    }
  }

  /** y[i] = x[i] * scale + shift for the first {@code n} elements, rounded once. */
  static void affine(float[] x, float scale, float shift, float[] y, int n) {
    for (int i = 0; i < n; i++) {
      y[i] = Math.fma(x[i], scale, shift);
    }
  }

  /**
   * e^x within 2 units in the last place: x = n ln 2 + r with |r| at most ln 2 / 2, a polynomial
   * for e^r (the Cephes library's expf), and n added to the exponent.
   */
  static float exp(float x) {
    if (!(x > -87.3f)) {
      return Float.isNaN(x) ? x : (float) Math.exp(x); // subnormal or 0
    }
    if (x > 88f) {
      return (float) Math.exp(x);
    }
    float n = (float) Math.rint(x * LOG2_E);
    float r = x - n * LN2_HIGH - n * LN2_LOW;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    float e = p * r * r + r + 1f;
    return e * Float.intBitsToFloat(((int) n + 127) << 23);
  }

  /**
   * erf(x) within 2e-7: below 1 its series, above the approximation of Abramowitz and Stegun
   * 7.1.26.
   */
  static float erf(float x) {
    float magnitude = Math.abs(x);
    if (magnitude < 1f) {
      float square = x * x;
      float sum = ERF_SERIES[11];
      for (int n = 10; n >= 0; n--) {
        sum = sum * square + ERF_SERIES[n];
      }
      return sum * x;
    }
    if (magnitude > 4f) {
      return Float.isNaN(x) ? x : Math.signum(x);
    }
    float t = 1f / (1f + 0.3275911f * magnitude);
    float p = 1.061405429f;
    p = p * t - 1.453152027f;
    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = p * t + 0.254829592f;
    return Math.copySign(1f - p * t * exp(-magnitude * magnitude), x);
  }
}
