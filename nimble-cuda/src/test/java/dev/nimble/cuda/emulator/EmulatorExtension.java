package dev.nimble.cuda.emulator;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** What {@link OnEmulator} does. */
final class EmulatorExtension
    implements BeforeAllCallback, BeforeEachCallback, AfterEachCallback, AfterAllCallback {
  private static final ExtensionContext.Namespace SPACE =
      ExtensionContext.Namespace.create(EmulatorExtension.class);

  @Override
  public void beforeAll(ExtensionContext context) {
    Assumptions.assumeTrue(Emulator.obstacle().isEmpty(), Emulator::obstacle);
    Emulator.install();
    Emulator.reset();
    remember(context);
  }

  @Override
  public void beforeEach(ExtensionContext context) {
    Emulator.reset();
    remember(context);
  }

  @Override
  public void afterEach(ExtensionContext context) {
    assertThat(Emulator.unknownCalls()).as("calls that are not emulated").isEmpty();
    compare(context);
  }

  @Override
  public void afterAll(ExtensionContext context) {
    if (Emulator.obstacle().isEmpty()) {
      compare(context);
    }
  }

  private static void remember(ExtensionContext context) {
    context.getStore(SPACE).put(context.getUniqueId(), Emulator.open());
  }

  private static void compare(ExtensionContext context) {
    Map<?, ?> before = context.getStore(SPACE).get(context.getUniqueId(), Map.class);
    assertThat(Emulator.open()).as("handles and allocations left open").isEqualTo(before);
  }
}
