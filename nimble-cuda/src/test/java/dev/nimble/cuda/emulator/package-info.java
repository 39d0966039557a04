/**
 * An emulator of CUDA's driver and libraries, for tests on machines without a GPU: built by g++
 * when the tests start, and loaded under the names that JCuda's natives ask for. The door is {@link
 * dev.nimble.cuda.emulator.Emulator}. It shows what a program does, never how fast a GPU would do
 * it.
 *
 * <p>cuBLAS and cuDNN keep to what NVIDIA documents, down to what surprises:
 *
 * <ul>
 *   <li>Status codes of cuDNN are those of version 9 (2000 for a bad parameter, 3000 for what is
 *       not supported), which the constants of jcudnn 11.7.0 are not.
 *   <li>Default math rounds single-precision convolutions to TF32 under some algorithms; {@code
 *       CUDNN_FMA_MATH} forbids it. cuBLAS rounds only where {@code CUBLAS_TF32_TENSOR_OP_MATH} is
 *       set.
 *   <li>Choosing a stream gives up cuBLAS's workspace, and a product captured without one adds
 *       nodes that allocate and free it.
 *   <li>Creating a handle, measuring algorithms and results on the host are refused while
 *       capturing, and invalidate the capture.
 *   <li>A workspace is checked for its size and left full of garbage; a beta of 0 reads nothing; an
 *       access outside a live allocation fails when the work runs.
 *   <li>Algorithms refuse the shapes that NVIDIA's tables exclude; their times are invented, but
 *       the same at each run.
 *   <li>Handles work in their own context only. Any function that is not emulated answers "not
 *       supported" and is noted by name.
 * </ul>
 *
 * <p>The driver runs what is enqueued as a DAG, on six threads, picking at random among what is
 * ready. It keeps to the rules of streams, events, contexts, capture and graphs that NVIDIA
 * documents. Where the documents leave room it takes the strict side, untried on a GPU:
 *
 * <ul>
 *   <li>A captured node depends on all that its stream holds: its last node and the nodes of every
 *       event waited for since, though some be implied by others.
 *   <li>While capturing, a copy from or to pageable host memory is refused, and so is the launch of
 *       another graph; waiting for or asking any stream or event counts as an unsafe call.
 *   <li>An event whose last record was captured stays unusable outside the capture, also once that
 *       has ended, until it is recorded anew.
 *   <li>A kernel's pointer arguments must point into, or just past, live memory of its context when
 *       it runs. Its writes are caught by guards round each allocation and behind dynamic shared
 *       memory; reads out of bounds are seen only as the patterns they find, or as a fault.
 *   <li>A barrier that not every living thread of a block reaches is a failed launch.
 *   <li>What a context still holds when it is released is a leak, though the driver would free it.
 * </ul>
 *
 * <p>Not emulated, and noted when called: memory pools, managed memory, arrays and textures, copies
 * in two and three dimensions, external events, peer access, the per-thread default stream, headers
 * given to NVRTC. Two devices share the threads but no memory.
 *
 * <p>JCudnn fills an array by the count that a failed search leaves behind, and a size that a
 * failed query leaves unset holds garbage: read either only after a success.
 */
@NullMarked
package dev.nimble.cuda.emulator;

import org.jspecify.annotations.NullMarked;
