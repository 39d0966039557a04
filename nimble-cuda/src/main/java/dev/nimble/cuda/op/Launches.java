package dev.nimble.cuda.op;

import dev.nimble.cuda.driver.CudaFunction;
import dev.nimble.cuda.driver.DeviceAddress;
import dev.nimble.cuda.driver.LaunchDimensions;
import dev.nimble.cuda.kernel.KernelArguments;
import dev.nimble.cuda.library.Blas;
import dev.nimble.cuda.library.Dnn;
import dev.nimble.cuda.library.LibraryStream;
import jcuda.Pointer;

/** The kinds of launch. */
final class Launches {
  private Launches() {}

  static Launch kernel(CudaFunction function, LaunchDimensions size, KernelArguments arguments) {
    Pointer parameters = arguments.asParameters();
    return new Launch() {
      @Override
      public Kind kind() {
        return Kind.KERNEL;
      }

      @Override
      public void enqueue(LibraryStream on) {
        function.launch(on.stream(), size, parameters);
      }
    };
  }

  static Launch copy(DeviceAddress from, DeviceAddress to, long bytes) {
    return new Launch() {
      @Override
      public Kind kind() {
        return Kind.COPY;
      }

      @Override
      public void enqueue(LibraryStream on) {
        on.stream().copy(from, to, bytes);
      }
    };
  }

  static Launch blas(Blas.Call call) {
    return new Launch() {
      @Override
      public Kind kind() {
        return Kind.BLAS;
      }

      @Override
      public void enqueue(LibraryStream on) {
        call.enqueue(on);
      }
    };
  }

  static Launch dnn(Dnn.Call call) {
    return new Launch() {
      private boolean closed;

      @Override
      public Kind kind() {
        return Kind.DNN;
      }

      @Override
      public void enqueue(LibraryStream on) {
        call.enqueue(on);
      }

      @Override
      public void close() {
        if (!closed) {
          closed = true;
          call.close();
        }
      }
    };
  }
}
