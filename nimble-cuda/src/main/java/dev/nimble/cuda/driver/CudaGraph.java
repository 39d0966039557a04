package dev.nimble.cuda.driver;

import jcuda.driver.CUgraph;
import jcuda.driver.CUgraphExec;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;

/** A CUDA graph, as stream capture made it. */
public final class CudaGraph implements AutoCloseable {
  private final CudaContext context;
  private final CUgraph handle = new CUgraph();
  private boolean closed;

  /** Ends the capture that began on {@code stream}. */
  CudaGraph(CudaContext context, CUstream stream) {
    this.context = context;
    context.check("cuStreamEndCapture", JCudaDriver.cuStreamEndCapture(stream, handle));
    context.opened();
  }

  static void abandon(CUstream stream) {
    CUgraph partial = new CUgraph();
    JCudaDriver.cuStreamEndCapture(stream, partial);
    if (!partial.equals(new CUgraph())) {
      JCudaDriver.cuGraphDestroy(partial);
    }
  }

  /**
   * What a graph is made of.
   *
   * @param nodes kernels, copies and fills
   * @param edges dependencies between nodes
   */
  public record Contents(long nodes, long edges) {}

  /**
   * Counts the graph's nodes and edges. Only counts: JCuda 12.6.0 hands the driver an uninitialised
   * capacity when it is asked for the nodes themselves, and the driver fills that many entries.
   */
  public Contents contents() {
    long[] nodes = new long[1];
    context.check("cuGraphGetNodes", JCudaDriver.cuGraphGetNodes(handle, null, nodes));
    long[] edges = new long[1];
    context.check("cuGraphGetEdges", JCudaDriver.cuGraphGetEdges(handle, null, null, edges));
    return new Contents(nodes[0], edges[0]);
  }

  /** Makes the graph ready to be launched. */
  public Exec instantiate() {
    return new Exec();
  }

  /** Destroys the graph; its executables live on. Idempotent. */
  @Override
  public void close() {
    if (!closed) {
      closed = true;
      context.closed("cuGraphDestroy", JCudaDriver.cuGraphDestroy(handle));
    }
  }

  /** An instantiated graph ({@code CUgraphExec}). */
  public final class Exec implements AutoCloseable {
    private final CUgraphExec exec = new CUgraphExec();
    private boolean execClosed;

    private Exec() {
      context.check("cuGraphInstantiate", JCudaDriver.cuGraphInstantiate(exec, handle, 0));
      context.opened();
    }

    /** Brings the graph's description to the GPU, so that the first launch is as quick as later. */
    public void upload(CudaStream stream) {
      context.check("cuGraphUpload", JCudaDriver.cuGraphUpload(exec, stream.handle()));
    }

    /**
     * Enqueues the whole graph: one driver call. The context should be current.
     *
     * @return false if the driver refused because another context is current; nothing was enqueued
     */
    public boolean launch(CudaStream stream) {
      int code = JCudaDriver.cuGraphLaunch(exec, stream.handle());
      if (code == CUresult.CUDA_SUCCESS) {
        return true;
      }
      if (code == CUresult.CUDA_ERROR_INVALID_CONTEXT) {
        return false;
      }
      throw context.failure("cuGraphLaunch", code, "");
    }

    /** Destroys the executable. Idempotent. */
    @Override
    public void close() {
      if (!execClosed) {
        execClosed = true;
        context.closed("cuGraphExecDestroy", JCudaDriver.cuGraphExecDestroy(exec));
      }
    }
  }
}
