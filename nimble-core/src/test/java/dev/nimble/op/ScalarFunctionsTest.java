package dev.nimble.op;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.math.BigDecimal;
import java.math.MathContext;
import java.util.Random;
import java.util.function.DoubleUnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class ScalarFunctionsTest {
  private static final MathContext DIGITS = new MathContext(80);
  private static final BigDecimal PI =
      new BigDecimal("3.14159265358979323846264338327950288419716939937510582097494459230782");

  /** erf by its Maclaurin series, in 80 digits. */
  private static BigDecimal erf(double x) {
    BigDecimal square = new BigDecimal(x).multiply(new BigDecimal(x), DIGITS);
    BigDecimal power = new BigDecimal(x);
    BigDecimal sum = power;
    for (int n = 1; n < 400; n++) {
      power = power.multiply(square, DIGITS).divide(BigDecimal.valueOf(-n), DIGITS);
      sum = sum.add(power.divide(BigDecimal.valueOf(2L * n + 1), DIGITS), DIGITS);
    }
    return sum.multiply(BigDecimal.valueOf(2)).divide(PI.sqrt(DIGITS), DIGITS);
  }

  private static double relativeError(double actual, BigDecimal exact) {
    BigDecimal difference = new BigDecimal(actual).subtract(exact).abs();
    return exact.signum() == 0
        ? difference.doubleValue()
        : difference.divide(exact.abs(), DIGITS).doubleValue();
  }

  @Test
  void errorFunctionIsAccurate() {
    Random random = new Random(1);
    for (int i = 0; i < 400; i++) {
      double x = i < 100 ? -6.5 + 0.13 * i : 6 * random.nextDouble() * random.nextDouble();
      assertThat(relativeError(ErrorFunction.erf(x), erf(x))).as("erf(%s)", x).isLessThan(2e-15);
      BigDecimal complement = BigDecimal.ONE.subtract(erf(x));
      assertThat(relativeError(ErrorFunction.erfc(x), complement))
          .as("erfc(%s)", x)
          .isLessThan(2e-13);
    }
    assertThat(ErrorFunction.erf(Double.POSITIVE_INFINITY)).isEqualTo(1);
    assertThat(ErrorFunction.erf(Double.NEGATIVE_INFINITY)).isEqualTo(-1);
    assertThat(ErrorFunction.erfc(Double.POSITIVE_INFINITY)).isZero();
    assertThat(ErrorFunction.erfc(Double.NEGATIVE_INFINITY)).isEqualTo(2);
    assertThat(ErrorFunction.erf(Double.NaN)).isNaN();
    assertThat(ErrorFunction.erfc(Double.NaN)).isNaN();
    assertThat(1 / ErrorFunction.erf(-0.0)).isEqualTo(Double.NEGATIVE_INFINITY);
  }

  @Test
  void inverseHyperbolicFunctionsInvert() {
    for (double x : new double[] {1e-300, 1e-20, 1e-9, 1e-5, 0.1, 0.9, 1, 3, 20, 300, 709}) {
      for (double signed : new double[] {x, -x}) {
        inverts(UnaryFunction.ASINH, Math::sinh, signed, 1e-14);
        if (x < 15) {
          inverts(UnaryFunction.ATANH, Math::tanh, signed, x < 4 ? 1e-12 : 1e-2);
        }
      }
      if (x >= 1e-5) { // cosh is flat at 0: its argument cannot be had back more closely
        inverts(UnaryFunction.ACOSH, Math::cosh, x, Math.max(1e-14, 1e-15 / (x * x)));
      }
    }
    assertThat(apply(UnaryFunction.ASINH, 1e200)).isCloseTo(461.2101657793691, within(1e-12));
    assertThat(apply(UnaryFunction.ACOSH, 1e200)).isCloseTo(461.2101657793691, within(1e-12));
    assertThat(apply(UnaryFunction.ASINH, Double.NEGATIVE_INFINITY))
        .isEqualTo(Double.NEGATIVE_INFINITY);
    assertThat(apply(UnaryFunction.ACOSH, 0.5)).isNaN();
    assertThat(apply(UnaryFunction.ATANH, -1)).isEqualTo(Double.NEGATIVE_INFINITY);
    assertThat(apply(UnaryFunction.ATANH, 1.5)).isNaN();
    assertThat(1 / apply(UnaryFunction.ASINH, -0.0)).isEqualTo(Double.NEGATIVE_INFINITY);
  }

  private static void inverts(
      UnaryFunction inverse, DoubleUnaryOperator function, double x, double tolerance) {
    double back = apply(inverse, function.applyAsDouble(x));
    assertThat(Math.abs(back - x) / Math.abs(x)).as("%s of %s", inverse, x).isLessThan(tolerance);
  }

  private static double apply(UnaryFunction function, double x) {
    return function.apply(x, 0.0, 0.0);
  }

  @ParameterizedTest
  @CsvSource({
    "SOFTPLUS, -40, 4.248354255291589e-18",
    "SOFTPLUS, 1000, 1000",
    "MISH, -40, -1.6993417021166355e-16",
    "GELU, -8, -4.976768459417428e-15",
    "GELU, 2, 1.9544997361036416",
    "GELU_TANH, -4, -7.02459482e-5",
    "SIGMOID, -700, 9.859676543759770e-305",
    "SIGMOID, 800, 1",
    "ROUND, 2.5, 2",
    "ROUND, -3.5, -4",
    "SIGN, -7, -1",
    "RECIPROCAL, -4, -0.25",
    "SOFTSIGN, -3, -0.75",
    "HARD_SWISH, -4, 0",
    "HARD_SWISH, 1.5, 1.125"
  })
  void valuesKnownFromElsewhere(UnaryFunction function, double x, double expected) {
    assertThat(apply(function, x)).isCloseTo(expected, within(1e-8 * Math.abs(expected)));
  }

  /** The float form is the double form rounded, to within a unit in the last place. */
  @ParameterizedTest
  @EnumSource(UnaryFunction.class)
  void floatFormsAgreeWithDoubleForms(UnaryFunction function) {
    Random random = new Random(function.ordinal());
    float alpha = function == UnaryFunction.CLIP ? -0.75f : 0.625f;
    float beta = function == UnaryFunction.CLIP ? 1.25f : 0.5f;
    for (int i = 0; i < 2000; i++) {
      float x = (float) (random.nextGaussian() * Math.pow(10, random.nextInt(5) - 2));
      float actual = function.apply(x, alpha, beta);
      double exact = function.apply((double) x, (double) alpha, (double) beta);
      // two roundings within: at most 2 units of the largest intermediate, which is near 1 or x
      double unit = Math.ulp((float) Math.max(Math.abs(exact), function.takesIntegers() ? 0 : 0.5));
      if (Double.isNaN(exact)) {
        assertThat(actual).isNaN();
      } else {
        assertThat(Math.abs(actual - exact))
            .as("%s(%s)", function, x)
            .isLessThanOrEqualTo(2 * unit);
      }
    }
    assertThat(function.apply(Float.NaN, alpha, beta))
        .matches(y -> Float.isNaN(y) || function == UnaryFunction.THRESHOLDED_RELU);
  }

  @ParameterizedTest
  @EnumSource(BinaryFunction.class)
  void binaryFormsAgree(BinaryFunction function) {
    Random random = new Random(function.ordinal());
    for (int i = 0; i < 2000; i++) {
      int a = random.nextInt(41) - 20;
      int b = random.nextInt(41) - 20;
      if (function == BinaryFunction.POW) {
        b = Math.floorMod(b, 5);
      }
      if (b == 0 && function != BinaryFunction.POW) {
        continue;
      }
      long integer = function.apply((long) a, (long) b);
      double real = function.apply((double) a, (double) b);
      float single = function.apply((float) a, (float) b);
      assertThat((double) integer)
          .as("%s(%s, %s)", function, a, b)
          .isEqualTo(function == BinaryFunction.DIV ? (double) (a / b) : real);
      assertThat(single).isEqualTo((float) real);
    }
  }

  @Test
  void remaindersHaveTheirSigns() {
    assertThat(BinaryFunction.MOD.apply(-7L, 3L)).isEqualTo(2);
    assertThat(BinaryFunction.MOD.apply(7L, -3L)).isEqualTo(-2);
    assertThat(BinaryFunction.FMOD.apply(-7L, 3L)).isEqualTo(-1);
    assertThat(BinaryFunction.MOD.apply(-7.5, 2.0)).isEqualTo(0.5);
    assertThat(BinaryFunction.FMOD.apply(-7.5, 2.0)).isEqualTo(-1.5);
    for (BinaryFunction function :
        new BinaryFunction[] {BinaryFunction.DIV, BinaryFunction.MOD, BinaryFunction.FMOD}) {
      assertThat(function.apply(5L, 0L)).as(function + " by zero").isZero();
    }
  }
}
