package dev.nimble.cuda.emulator;

import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * A test class that runs on the emulated CUDA: skipped where there can be none, without faults at
 * the start of each test, and failed if a test leaves anything open or calls what is not emulated.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Inherited
@Tag("emulator")
@ExtendWith(EmulatorExtension.class)
public @interface OnEmulator {}
