package dev.nimble.cuda.library;

/**
 * Which of CUDA's libraries may be called.
 *
 * @param blas cuBLAS
 * @param dnn cuDNN
 */
public record Libraries(boolean blas, boolean dnn) {
  /** Both. */
  public static final Libraries ALL = new Libraries(true, true);

  /** Neither: every operator runs on kernels of our own. */
  public static final Libraries NONE = new Libraries(false, false);
}
