package dev.nimble.memory;

import static org.assertj.core.api.Assertions.assertThat;

import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.schedule.Schedule;
import dev.nimble.schedule.Sync;
import dev.nimble.testkit.RandomPlans;
import dev.nimble.testkit.Seeds;
import java.util.List;
import org.junit.jupiter.api.Test;

class HappensBeforeTest {
  @Test
  void equalsTheTransitiveClosureOfStreamOrderAndSyncs() {
    Seeds.forEach(
        300,
        (random, seed) -> {
          Graph graph = RandomPlans.graph(random, 1 + random.nextInt(30));
          Schedule schedule = RandomPlans.schedule(graph, random, 1 + random.nextInt(6));
          HappensBefore order = new HappensBefore(schedule);
          boolean[][] closure = closure(schedule);
          for (int a = 0; a < closure.length; a++) {
            for (int b = 0; b < closure.length; b++) {
              assertThat(order.before(a, b)).as("%s, %s", a, b).isEqualTo(closure[a][b]);
            }
          }
        });
  }

  private static boolean[][] closure(Schedule schedule) {
    int nodes = schedule.graph().nodes().size();
    boolean[][] reaches = new boolean[nodes][nodes];
    for (int s = 0; s < schedule.streams(); s++) {
      List<Node> stream = schedule.nodesOf(s);
      for (int i = 1; i < stream.size(); i++) {
        reaches[stream.get(i - 1).id()][stream.get(i).id()] = true;
      }
    }
    for (Sync sync : schedule.syncs()) {
      reaches[sync.from().id()][sync.to().id()] = true;
    }
    for (int k = 0; k < nodes; k++) {
      for (int a = 0; a < nodes; a++) {
        for (int b = 0; b < nodes; b++) {
          reaches[a][b] |= reaches[a][k] && reaches[k][b];
        }
      }
    }
    return reaches;
  }
}
