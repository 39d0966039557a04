package dev.nimble.op;

/**
 * What one launch asks of a device; a policy may order and place launches by it.
 *
 * @param floatingPointOperations multiplications and additions, each counted
 * @param bytesMoved operand bytes read and written
 * @param estimatedNanos estimated run time alone on the device, in nanoseconds; 0 if unknown
 */
public record ResourceDemand(long floatingPointOperations, long bytesMoved, long estimatedNanos) {
  /** Nothing is asked, or nothing is known. */
  public static final ResourceDemand NONE = new ResourceDemand(0, 0, 0);

  /** This demand with a (measured) run time. */
  public ResourceDemand withEstimatedNanos(long nanos) {
    return new ResourceDemand(floatingPointOperations, bytesMoved, nanos);
  }
}
