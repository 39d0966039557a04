package dev.nimble.op;

/** Functions of one number. Each is defined in double precision; the float form rounds once. */
public enum UnaryFunction {
  ABS("Abs", true),
  NEG("Neg", true),
  SIGN("Sign", true),
  RELU("Relu", true),
  CLIP("Clip", true),
  EXP("Exp", false),
  LOG("Log", false),
  SQRT("Sqrt", false),
  RECIPROCAL("Reciprocal", false),
  FLOOR("Floor", false),
  CEIL("Ceil", false),
  ROUND("Round", false),
  ERF("Erf", false),
  SIGMOID("Sigmoid", false),
  TANH("Tanh", false),
  SIN("Sin", false),
  COS("Cos", false),
  TAN("Tan", false),
  ASIN("Asin", false),
  ACOS("Acos", false),
  ATAN("Atan", false),
  SINH("Sinh", false),
  COSH("Cosh", false),
  ASINH("Asinh", false),
  ACOSH("Acosh", false),
  ATANH("Atanh", false),
  SOFTPLUS("Softplus", false),
  SOFTSIGN("Softsign", false),
  LEAKY_RELU("LeakyRelu", false),
  ELU("Elu", false),
  SELU("Selu", false),
  CELU("Celu", false),
  THRESHOLDED_RELU("ThresholdedRelu", false),
  HARD_SIGMOID("HardSigmoid", false),
  HARD_SWISH("HardSwish", false),
  GELU("Gelu", false),
  GELU_TANH("GeluTanh", false),
  MISH("Mish", false);

  private final String onnxName;
  private final boolean takesIntegers;

  UnaryFunction(String onnxName, boolean takesIntegers) {
    this.onnxName = onnxName;
    this.takesIntegers = takesIntegers;
  }

  /** ONNX's name of the operator. */
  public String onnxName() {
    return onnxName;
  }

  /** Whether integer tensors are allowed. */
  public boolean takesIntegers() {
    return takesIntegers;
  }

  /** The single-precision function. */
  public float apply(float x, float alpha, float beta) {
    switch (this) { // the cheap ones are computed in single precision: the same value, and
      // vectorisable
      case ABS:
        return Math.abs(x);
      case NEG:
        return -x;
      case RELU:
        return Math.max(x, 0f);
      case CLIP:
        return Math.min(Math.max(x, alpha), beta);
      case LEAKY_RELU:
        return x < 0 ? x * alpha : x;
      case HARD_SIGMOID:
        return Math.max(0f, Math.min(1f, alpha * x + beta));
      case HARD_SWISH:
        return x * Math.max(0f, Math.min(1f, x * (1f / 6f) + 0.5f));
      default:
        return (float) apply((double) x, (double) alpha, (double) beta);
    }
  }

  /** The function; {@code alpha} and {@code beta} matter only where the operator has attributes. */
  public double apply(double x, double alpha, double beta) {
    switch (this) {
      case ABS:
        return Math.abs(x);
      case NEG:
        return -x;
      case SIGN:
        return Math.signum(x);
      case RELU:
        return Math.max(x, 0);
      case CLIP:
        return Math.min(Math.max(x, alpha), beta);
      case EXP:
        return Math.exp(x);
      case LOG:
        return Math.log(x);
      case SQRT:
        return Math.sqrt(x);
      case RECIPROCAL:
        return 1 / x;
      case FLOOR:
        return Math.floor(x);
      case CEIL:
        return Math.ceil(x);
      case ROUND:
        return Math.rint(x);
      case ERF:
        return ErrorFunction.erf(x);
      case SIGMOID:
        return 1 / (1 + Math.exp(-x));
      case TANH:
        return Math.tanh(x);
      case SIN:
        return Math.sin(x);
      case COS:
        return Math.cos(x);
      case TAN:
        return Math.tan(x);
      case ASIN:
        return Math.asin(x);
      case ACOS:
        return Math.acos(x);
      case ATAN:
        return Math.atan(x);
      case SINH:
        return Math.sinh(x);
      case COSH:
        return Math.cosh(x);
      case ASINH:
        double magnitude = Math.abs(x);
        double inverse = 1 / magnitude; // infinite for 0, which then gives 0
        return Math.copySign(
            Math.log1p(magnitude + magnitude / (inverse + Math.hypot(1, inverse))), x);
      case ACOSH:
        double above = x - 1;
        return Math.log1p(above + Math.sqrt(above) * Math.sqrt(above + 2));
      case ATANH:
        double size = Math.abs(x);
        return Math.copySign(0.5 * Math.log1p(2 * size / (1 - size)), x);
      case SOFTPLUS:
        return Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
      case SOFTSIGN:
        return x / (1 + Math.abs(x));
      case LEAKY_RELU:
        return x < 0 ? x * alpha : x;
      case ELU:
        return x < 0 ? alpha * Math.expm1(x) : x;
      case SELU:
        return beta * (x < 0 ? alpha * Math.expm1(x) : x);
      case CELU:
        return Math.max(x, 0) + Math.min(0, alpha * Math.expm1(x / alpha));
      case THRESHOLDED_RELU:
        return x > alpha ? x : 0;
      case HARD_SIGMOID:
        return Math.max(0, Math.min(1, alpha * x + beta));
      case HARD_SWISH:
        return x * Math.max(0, Math.min(1, x / 6 + 0.5));
      case GELU:
        return 0.5 * x * ErrorFunction.erfc(-x * Math.sqrt(0.5));
      case GELU_TANH:
        // (1 + tanh(u)) / 2 = 1 / (1 + exp(-2 u)), which does not cancel
        return x / (1 + Math.exp(-2 * Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x)));
      case MISH:
        return x * Math.tanh(Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x))));
      default:
        throw new AssertionError(this);
    }
  }

  /** The integer function, where {@link #takesIntegers()}. */
  long apply(long x, float alpha, float beta) {
    switch (this) {
      case ABS:
        return Math.abs(x);
      case NEG:
        return -x;
      case SIGN:
        return Long.signum(x);
      case RELU:
        return Math.max(x, 0);
      case CLIP:
        return Math.min(Math.max(x, (long) Math.ceil(alpha)), (long) Math.floor(beta));
      default:
        throw new AssertionError(this);
    }
  }
}
