package dev.nimble.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.nimble.error.DeviceException;
import dev.nimble.error.InvalidArgumentException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DevicesTest {
  /** A provider that opens nothing but tells who was asked. */
  private record Named(String name, int preference, boolean available) implements DeviceProvider {
    @Override
    public Availability availability() {
      return new Availability(available, available ? "here" : "install the driver");
    }

    @Override
    public Device open(int ordinal) {
      throw new UnsupportedOperationException(name + ":" + ordinal);
    }
  }

  private static final List<DeviceProvider> THREE =
      List.of(new Named("best", 9, false), new Named("fast", 5, true), new Named("slow", 0, true));

  @ParameterizedTest
  @ValueSource(strings = {"cpu", "cpu:0", "auto"})
  void theCpuDeviceIsFoundByName(String spec) {
    try (Device device = Devices.open(spec)) {
      assertThat(device.name()).startsWith("cpu");
      assertThat(device.concurrency()).isEqualTo(Runtime.getRuntime().availableProcessors());
    }
  }

  @Test
  void autoIsTheMostPreferredThatIsAvailable() {
    assertThat(Devices.best(THREE).name()).isEqualTo("fast");
    assertThatThrownBy(() -> Devices.open("auto", THREE)).hasMessage("fast:0");
    assertThatThrownBy(() -> Devices.open("slow:3", THREE)).hasMessage("slow:3");
  }

  @Test
  void anUnknownDeviceIsRefusedWithThoseThatThereAre() {
    assertThatThrownBy(() -> Devices.open("abacus", THREE))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessage(
            "there is no device 'abacus'; there are auto, best (not available: install the driver),"
                + " fast (here), slow (here)");
  }

  @Test
  void aDeviceThatIsNotAvailableSaysWhatToDo() {
    assertThatThrownBy(() -> Devices.open("best", THREE))
        .isInstanceOf(DeviceException.class)
        .hasMessage("best is not available: install the driver");
    assertThatThrownBy(() -> Devices.best(THREE.subList(0, 1)))
        .isInstanceOf(DeviceException.class)
        .hasMessageContaining("install the driver");
  }

  @ParameterizedTest
  @ValueSource(strings = {"cpu:", "cpu:x", "cpu:-1", "cpu:99999999999", "cpu:1", "", ":", "CPU"})
  void aMalformedNameIsRefused(String spec) {
    assertThatThrownBy(() -> Devices.open(spec)).isInstanceOf(InvalidArgumentException.class);
  }

  /** One whose static initialiser fails, as natives that are missing do. */
  public static final class Unloadable implements DeviceProvider {
    private static final int PREFERENCE = fail();

    /** For the loader. */
    public Unloadable() {}

    private static int fail() {
      throw new UnsatisfiedLinkError("no natives");
    }

    @Override
    public String name() {
      return "unloadable";
    }

    @Override
    public int preference() {
      return PREFERENCE;
    }

    @Override
    public Availability availability() {
      return new Availability(true, "");
    }

    @Override
    public Device open(int ordinal) {
      throw new UnsupportedOperationException();
    }
  }

  @Test
  void aProviderThatCannotBeLoadedDoesNotHideTheOthers(@TempDir Path folder) throws Exception {
    Path services = Files.createDirectories(folder.resolve("META-INF/services"));
    Files.writeString(
        services.resolve(DeviceProvider.class.getName()), Unloadable.class.getName() + "\n");
    URL[] urls = {folder.toUri().toURL()};
    try (URLClassLoader loader = new URLClassLoader(urls, getClass().getClassLoader())) {
      List<DeviceProvider> providers = Devices.providers(loader);
      assertThat(providers).extracting(DeviceProvider::name).containsExactly("cpu", "Unloadable");
      assertThat(Devices.best(providers).name()).isEqualTo("cpu");
      assertThatThrownBy(() -> Devices.open("Unloadable", providers))
          .isInstanceOf(DeviceException.class)
          .hasMessageContaining("no natives");
    }
  }
}
