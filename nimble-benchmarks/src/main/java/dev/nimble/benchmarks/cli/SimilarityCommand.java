package dev.nimble.benchmarks.cli;

import dev.nimble.benchmarks.models.SentenceEmbedding;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code nimble similarity}: MiniLM end to end, from sentences to cosines. */
@Command(
    name = "similarity",
    mixinStandardHelpOptions = true,
    description = "Embeds sentences with MiniLM and prints how alike each is to the first.")
final class SimilarityCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Parameters(arity = "2..*", paramLabel = "SENTENCE", description = "Two sentences or more.")
  private List<String> sentences = List.of();

  @Override
  public Integer call() {
    try (SentenceEmbedding embedding = new SentenceEmbedding()) {
      float[] first = embedding.embed(sentences.get(0));
      for (String sentence : sentences.subList(1, sentences.size())) {
        float[] other = embedding.embed(sentence);
        spec.commandLine()
            .getOut()
            .printf("%.4f  %s%n", SentenceEmbedding.cosine(first, other), sentence);
      }
      spec.commandLine().getOut().flush();
    }
    return 0;
  }
}
