package dev.nimble.planfile;

/**
 * Bounds on what a plan file may ask for, checked before anything is allocated. (What a plan's
 * regions take is bounded by the device.)
 *
 * @param structureBytes size of all but the weights
 * @param nodes number of nodes
 * @param weightBytes size of all weights together
 * @param verificationBytes what the verifier's clocks may take: 4 bytes for each stream and each
 *     stream, event and wait
 */
public record PlanLimits(long structureBytes, int nodes, long weightBytes, long verificationBytes) {
  /** 256 MiB, a million nodes, 64 GiB of weights, 1 GiB of clocks. */
  public static PlanLimits defaults() {
    return new PlanLimits(1L << 28, 1_000_000, 1L << 36, 1L << 30);
  }

  /** These limits with another on the structure. */
  public PlanLimits withStructureBytes(long bytes) {
    return new PlanLimits(bytes, nodes, weightBytes, verificationBytes);
  }

  /** These limits with another on the number of nodes. */
  public PlanLimits withNodes(int count) {
    return new PlanLimits(structureBytes, count, weightBytes, verificationBytes);
  }

  /** These limits with another on the weights. */
  public PlanLimits withWeightBytes(long bytes) {
    return new PlanLimits(structureBytes, nodes, bytes, verificationBytes);
  }

  /** These limits with another on the verifier's clocks. */
  public PlanLimits withVerificationBytes(long bytes) {
    return new PlanLimits(structureBytes, nodes, weightBytes, bytes);
  }
}
