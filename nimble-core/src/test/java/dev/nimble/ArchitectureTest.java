package dev.nimble;

import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The import table of docs/architecture.md, and a demonstration that it bites. */
class ArchitectureTest {
  private static final String ROOT = "dev.nimble";

  /** Each package, relative to the root, with the packages that it may import. */
  private static final Map<String, List<String>> MAY_IMPORT = table();

  private static Map<String, List<String>> table() {
    Map<String, List<String>> table = new LinkedHashMap<>();
    table.put("error", List.of());
    table.put("jfr", List.of());
    table.put("graph", List.of("error"));
    table.put("buffer", List.of("error"));
    List<String> operators = List.of("error", "graph");
    table.put("op", operators);
    List<String> graphs = with(operators, "op");
    table.put("capture", with(graphs, "jfr"));
    table.put("onnx", with(graphs, "jfr"));
    table.put("transform", graphs);
    table.put("analysis", List.of("error"));
    table.put("schedule", with(graphs, "analysis"));
    table.put("memory", with(graphs, "buffer", "analysis", "schedule"));
    table.put("plan", with(graphs, "buffer", "schedule", "memory"));
    table.put("verify", with(graphs, "buffer", "plan"));
    table.put("view", with(graphs, "buffer", "analysis", "schedule", "memory", "plan"));
    table.put("planfile", with(graphs, "buffer", "schedule", "memory", "plan", "verify"));
    table.put("device", with(graphs, "buffer", "plan"));
    // A device reads memory plans and schedules as data, through the plan.
    table.put("device.cpu", with(graphs, "buffer", "plan", "memory", "device"));
    List<String> all = new ArrayList<>(table.keySet());
    table.put("", all);
    return table;
  }

  private static List<String> with(List<String> packages, String... more) {
    List<String> all = new ArrayList<>(packages);
    all.addAll(List.of(more));
    return all;
  }

  private static final JavaClasses PRODUCT = product();

  /** The classes of nimble-core itself, from wherever {@link Nimble} was loaded. */
  private static JavaClasses product() {
    try {
      URI place = Nimble.class.getProtectionDomain().getCodeSource().getLocation().toURI();
      return new ClassFileImporter().importPath(Path.of(place));
    } catch (URISyntaxException e) {
      throw new AssertionError(e);
    }
  }

  /** Classes of {@code root.room} may use only their own and the allowed rooms of {@code root}. */
  private static ArchRule rule(String root, String room, List<String> allowed) {
    String own = room.isEmpty() ? root : root + "." + room;
    DescribedPredicate<JavaClass> forbidden =
        DescribedPredicate.describe(
            "in rooms that " + own + " may not import",
            used ->
                (used.getPackageName() + ".").startsWith(root + ".")
                    && !used.getPackageName().equals(own)
                    && allowed.stream()
                        .noneMatch(a -> used.getPackageName().equals(root + "." + a)));
    return ArchRuleDefinition.noClasses()
        .that()
        .resideInAPackage(own)
        .should()
        .dependOnClassesThat(forbidden)
        .allowEmptyShould(true);
  }

  @Test
  void importsFollowTheTable() {
    JavaClasses classes = PRODUCT;
    assertThat(classes).as("there is something to check").hasSizeGreaterThan(100);
    MAY_IMPORT.forEach((room, allowed) -> rule(ROOT, room, allowed).check(classes));
  }

  @Test
  void everyPackageIsInTheTable() {
    TreeSet<String> packages = new TreeSet<>();
    PRODUCT.forEach(c -> packages.add(c.getPackageName()));
    packages.removeIf(
        p -> MAY_IMPORT.containsKey(p.equals(ROOT) ? "" : p.substring(ROOT.length() + 1)));
    assertThat(packages).isEmpty();
  }

  @Test
  void packagesHaveNoCycles() {
    slices().matching("dev.nimble.(**)").should().beFreeOfCycles().check(PRODUCT);
  }

  /** No class uses one that has CUDA in its name, be it JCuda's or ours. */
  private static final ArchRule NO_CUDA =
      ArchRuleDefinition.noClasses()
          .should()
          .dependOnClassesThat()
          .haveNameMatching("(?i).*cuda.*");

  @Test
  void coreKnowsNoCuda() {
    NO_CUDA.check(PRODUCT);
  }

  @Test
  void theRuleAgainstCudaBites() {
    JavaClasses classes = new ClassFileImporter().importPackages(ROOT + ".planted");
    assertThatThrownBy(() -> NO_CUDA.check(classes))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("LaunchesByItself")
        .hasMessageContaining("CudaHandle");
  }

  /** The same rules, applied to a planted room that imports upwards, must complain. */
  @Test
  void theRulesBite() {
    String planted = ROOT + ".planted";
    JavaClasses classes = new ClassFileImporter().importPackages(planted);
    rule(planted, "graph", List.of("error")).check(classes); // an innocent room passes
    assertThatThrownBy(() -> rule(planted, "analysis", List.of("error")).check(classes))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("Upwards");
    assertThatThrownBy(
            () ->
                slices()
                    .matching("dev.nimble.planted.(*)")
                    .should()
                    .beFreeOfCycles()
                    .check(classes))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("Cycle");
  }
}
