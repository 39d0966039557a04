package dev.nimble.op;

/** Functions of two numbers. */
public enum BinaryFunction {
  ADD("Add"),
  SUB("Sub"),
  MUL("Mul"),
  DIV("Div"),
  POW("Pow"),
  MIN("Min"),
  MAX("Max"),
  /** The remainder with the sign of the divisor (ONNX Mod, fmod = 0). */
  MOD("Mod"),
  /** The remainder with the sign of the dividend (ONNX Mod, fmod = 1). */
  FMOD("Mod"),
  PRELU("PRelu");

  private final String onnxName;

  BinaryFunction(String onnxName) {
    this.onnxName = onnxName;
  }

  /** ONNX's name of the operator. */
  public String onnxName() {
    return onnxName;
  }

  /** The single-precision function, rounded once. */
  public float apply(float a, float b) {
    switch (this) {
      case ADD:
        return a + b;
      case SUB:
        return a - b;
      case MUL:
        return a * b;
      case DIV:
        return a / b;
      case MIN:
        return Math.min(a, b);
      case MAX:
        return Math.max(a, b);
      case PRELU:
        return a < 0 ? a * b : a;
      default:
        return (float) apply((double) a, (double) b);
    }
  }

  /** The double-precision function. */
  public double apply(double a, double b) {
    switch (this) {
      case ADD:
        return a + b;
      case SUB:
        return a - b;
      case MUL:
        return a * b;
      case DIV:
        return a / b;
      case POW:
        return Math.pow(a, b);
      case MIN:
        return Math.min(a, b);
      case MAX:
        return Math.max(a, b);
      case MOD:
        double remainder = a % b;
        return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
      case FMOD:
        return a % b;
      case PRELU:
        return a < 0 ? a * b : a;
      default:
        throw new AssertionError(this);
    }
  }

  /** The integer function; division truncates, and division by zero gives 0. */
  public long apply(long a, long b) {
    switch (this) {
      case ADD:
        return a + b;
      case SUB:
        return a - b;
      case MUL:
        return a * b;
      case DIV:
        return b == 0 ? 0 : a / b;
      case POW:
        return (long) Math.pow(a, b);
      case MIN:
        return Math.min(a, b);
      case MAX:
        return Math.max(a, b);
      case MOD:
        return b == 0 ? 0 : Math.floorMod(a, b);
      case FMOD:
        return b == 0 ? 0 : a % b;
      case PRELU:
        return a < 0 ? a * b : a;
      default:
        throw new AssertionError(this);
    }
  }

  /** The function of unsigned 64-bit integers, where it differs from that of signed ones. */
  long applyUnsigned(long a, long b) {
    switch (this) {
      case DIV:
        return b == 0 ? 0 : Long.divideUnsigned(a, b);
      case MIN:
        return Long.compareUnsigned(a, b) < 0 ? a : b;
      case MAX:
        return Long.compareUnsigned(a, b) < 0 ? b : a;
      case MOD:
      case FMOD:
        return b == 0 ? 0 : Long.remainderUnsigned(a, b);
      case PRELU:
        return a; // never negative
      case POW:
        long power = 1;
        for (long left = b, square = a; left != 0; left >>>= 1, square *= square) {
          power *= (left & 1) == 1 ? square : 1;
        }
        return power;
      default:
        return apply(a, b);
    }
  }
}
